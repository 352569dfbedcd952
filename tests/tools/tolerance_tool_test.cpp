// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A user's tolerances and JUnit's XML: what decides the exit status, and what is said.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lastbit/junit.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using Json = nlohmann::json;
using test::Shell;

namespace {

const std::string compare = "compare " + (test::source_directory() / "examples/digits/model.json").string() + " --input " +
                            (test::source_directory() / "examples/digits/test_images.npy").string() + " --a tflite_double --b vipnano_v8";

bool says(const Shell& shell, const std::string& text) { return shell.text("out").find(text) != std::string::npos; }

/// As python reads it: "tests failures" and every failure's message.
std::string read_by_python(const Shell& shell, const std::string& file) {
  shell.write("read.py",
              "import sys, xml.etree.ElementTree as t\n"
              "suite = t.parse(sys.argv[1]).getroot()[0]\n"
              "print(len(suite.findall('testcase')), len(suite.findall('testcase/failure')), suite.get('tests'), suite.get('failures'))\n"
              "for f in suite.iter('failure'): print(ascii(f.get('message')))\n");
  const std::string command = "cd " + shell.file(".").string() + " && /usr/bin/python3 read.py " + file + " >read 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c): a test of what others read
  return shell.text("read");
}

}  // namespace

TEST_CASE("a comparison within the tolerances ends with 0 and never says equal") {
  const Shell shell;
  // conv1 differs least, by 1 LSB; probabilities most, by 13.
  CHECK(shell.status(compare) == 1);
  CHECK_FALSE(says(shell, "olerance"));
  CHECK(shell.status(compare + " --max-lsb 13") == 0);
  CHECK(says(shell, "Within the tolerance, not equal: 9 tensors differ of 10."));
  CHECK(shell.status(compare + " --max-lsb 12") == 1);
  CHECK(says(shell, "Outside the tolerance: layer 8 'probabilities': +13 LSB, allowed 12\n"));
  CHECK(shell.status(compare + " --max-share 28.9%") == 0);
  CHECK(shell.status(compare + " --max-share 0.289") == 0);
  CHECK(shell.status(compare + " --max-share 28.8%") == 1);
  CHECK(says(shell, "layer 7 'logits': 28.8333% of the values differ, allowed 28.8%"));
  CHECK(shell.status(compare + " --min-cosine 0.9999") == 0);
  CHECK(shell.status(compare + " --min-cosine 0.99996") == 1);
  CHECK(shell.status(compare + " --max-lsb 13 --max-share 1%") == 1);
  CHECK(shell.status(compare + " --max-lsb 0 --max-share 100%") == 1);
  CHECK(shell.status(compare + " --max-lsb 12 --json") == 1);
  const Json outside = Json::parse(shell.text("out"))["tolerance"];
  CHECK(outside["within"] == false);
  REQUIRE(outside["outside"].size() == 1);
  CHECK(outside["outside"][0]["number"] == 8);
  CHECK(shell.status(compare + " --max-lsb 13 --json") == 0);
  CHECK(Json::parse(shell.text("out"))["tolerance"]["within"] == true);
  CHECK(Json::parse(shell.text("out"))["equal"] == false);
}

TEST_CASE("tolerances of single layers, by number, name and pattern") {
  const Shell shell;
  shell.write("t.json",
              R"({"default": {"max_lsb": 1}, "layers": {"8": {"max_lsb": 13}, "log*": {"max_lsb": 2}, "p?intwise1": {"max_lsb": 2},
                           "residual": {"max_lsb": 3, "max_share": "2.2%"}}})");
  CHECK(shell.status(compare + " --tolerances t.json") == 0);
  CHECK(says(shell, "Within the tolerance, not equal"));
  CHECK(shell.status(compare + " --tolerances t.json --max-lsb 0") == 1);
  shell.write("t.json", R"({"default": {"max_lsb": 13}, "layers": {"residual": {"max_share": 0.02}}})");
  CHECK(shell.status(compare + " --tolerances t.json") == 1);
  CHECK(says(shell, "Outside the tolerance: layer 4 'residual': 2.13% of the values differ, allowed 2%"));
  shell.write("t.json", R"({"layers": {"8": {"max_lsb": 13}}})");
  CHECK(shell.status(compare + " --tolerances t.json") == 1);
  CHECK(says(shell, "'conv1': 0.0868% of the values differ, allowed none"));
  shell.write("t.json", R"({"default": {"max_lsp": 13}})");
  CHECK(shell.status(compare + " --tolerances t.json") == 2);
}

TEST_CASE("verify within tolerances, which are the user's and hold for tensors of cases") {
  const Shell shell;
  const std::string shrink = "shrink" + compare.substr(std::string("compare").size()) + " --layer 0 --output case";
  REQUIRE(shell.status(shrink) == 1);
  const std::string other = "verify case --backend vipnano_v8";
  CHECK(shell.status("verify case") == 0);
  CHECK(shell.status(other) == 1);
  CHECK(shell.status(other + " --max-lsb 1") == 0);
  CHECK(says(shell, "Within the tolerance, not equal: 1 case\n"));
  CHECK(shell.status(other + " --max-lsb 0") == 1);
  CHECK(shell.status(other + " --max-lsb 1 --json") == 0);
  CHECK(Json::parse(shell.text("out"))["within"] == 1);
  shell.write("t.json", R"({"layers": {"y*": {"max_lsb": 1}}})");
  CHECK(shell.status(other + " --tolerances t.json") == 0);
  shell.write("t.json", R"({"layers": {"y": {"max_lsb": 1}, "yy": {"max_lsb": 1}, "0*": {"max_lsb": 1}}})");
  CHECK(shell.status(other + " --tolerances t.json") == 2);
  CHECK(shell.text("err") == "lastbit: tolerances: 2 problems\n  no layer is called '0*'\n  no layer is called 'yy'; did you mean 'y'?\n");
  shell.write("t.json", R"({"layers": {"0": {"max_lsb": 1}}})");  // a case's tensors have no numbers
  CHECK(shell.status(other + " --tolerances t.json") == 2);
  CHECK(shell.status(other + " --junit r.xml") == 1);
  CHECK(read_by_python(shell, "r.xml").starts_with("2 1 2 1\n"));
  CHECK(shell.status(other + " --max-lsb 1 --junit s.xml") == 0);
  CHECK(read_by_python(shell, "s.xml").starts_with("2 0 2 0\n"));
}

TEST_CASE("JUnit: a case per tensor, and XML whatever the texts hold") {
  const Shell shell;
  CHECK(shell.status(compare + " --junit r.xml") == 1);
  CHECK(read_by_python(shell, "r.xml").starts_with("10 9 10 9\n"));
  CHECK(shell.status(compare + " --max-lsb 12 --junit s.xml") == 1);
  CHECK(read_by_python(shell, "s.xml") == "10 1 10 1\n'+13 LSB, allowed 12'\n");
  const std::vector<JunitCase> cases{
      {"<&\">'", std::string("a\0b\x1b[31m\x7f", 10), "one\ntwo\ttabs \"]]>\""},
      {"\xff\xfe\xc0\x80", "\xef\xbf\xbe\xef\xbf\xbf\xed\xa0\x80", "\xc2\x9b bad \xe2\x80\xae \xf0\x9f\x98\x80"},
      {"", "", ""}};
  std::vector<JunitCase> every;
  for (std::uint32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 || (code > 0xD700 && code < 0x10100) ? 1 : 0xFFF) {
    std::string text;  // as UTF-8 has it, surrogates included
    if (code < 0x80) text = {static_cast<char>(code)};
    else if (code < 0x800) text = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    else if (code < 0x10000)
      text = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)), static_cast<char>(0x80 | (code & 0x3F))};
    else
      text = {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3F)),
              static_cast<char>(0x80 | (code >> 6 & 0x3F)), static_cast<char>(0x80 | (code & 0x3F))};
    every.push_back({"g" + text, text, ""});
  }
  shell.write("every.xml", junit_text("every character", every));
  CHECK(read_by_python(shell, "every.xml") == std::to_string(every.size()) + " 0 " + std::to_string(every.size()) + " 0\n");
  shell.write("odd.xml", junit_text("\x01suite\xff", cases));
  CHECK(read_by_python(shell, "odd.xml") == "3 2 3 2\n'one\\ntwo\\ttabs \"]]>\"'\n'\\\\u009b bad \\\\u202e \\U0001f600'\n");
}
