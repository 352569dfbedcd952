# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
#
# docs/stories/STORY.md shows what `lastbit demo STORY` prints, to the letter.
execute_process(COMMAND ${LASTBIT} demo ${STORY} --examples ${SOURCE}/examples OUTPUT_VARIABLE printed RESULT_VARIABLE status)
file(READ ${SOURCE}/docs/stories/${STORY}.md page)
string(FIND "${page}" "```\n${printed}```" place)
if(NOT status EQUAL 0 OR place LESS 0)
  message(FATAL_ERROR "docs/stories/${STORY}.md does not show what the demo prints:\n${printed}")
endif()
