#!/usr/bin/awk -f
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
#
# A header as Doxygen shall read it, line by line: the comment on top, which is the contract of what is in the file, becomes the file's text, its first
# paragraph as prose and the rest, formulas and tables, as it stands.
NR <= 2 { print ""; next }
NR == 3 && $0 == "//" { print "/*! \\file"; head = "prose"; next }
head && $0 == "#pragma once" { print (head == "contract" ? "\\endverbatim " : "") "*/"; head = ""; next }
head == "prose" && $0 == "//" { print "\\verbatim"; head = "contract"; next }
head { sub(/^\/\/ ?/, ""); if (head == "prose") gsub(/</, "\\&lt;"); print; next }
{ print }
