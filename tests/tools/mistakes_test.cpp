// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What users get wrong, and what they are told: exit status 2, which problem and where, all of them at once, what was probably meant and
// what to type next, in lines of at most 200 characters, unless a name or a word is longer.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "lastbit/nearest.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

namespace {

struct Mistake {
  std::string words;
  std::vector<std::string> told;  ///< each stands in the message
};

/// In the working folder: M.json, a network; x.npy, its input.
std::vector<Mistake> mistakes() {
  return {
      // Commands and options.
      {"comapre M.json", {"unknown subcommand 'comapre'", "did you mean 'compare'?", "lastbit --help lists them"}},
      {"identfy", {"'identify'"}},
      {"quantise M.json", {"'quantize'"}},
      {"help comapre", {"unknown subcommand 'comapre'", "did you mean 'compare'?", "lastbit --help lists them"}},
      {"help run float", {"unexpected argument 'float'"}},
      {"shell", {"shell: shell is needed"}},
      {"shell csh", {"csh", "bash", "zsh", "fish", "man"}},
      {"shell man pove", {"unknown subcommand 'pove'", "'prove'"}},
      {"shell bash run", {"only man has a page for each command"}},
      {"run M.json --bakend float --input x.npy", {"unknown option '--bakend'", "'--backend'", "lastbit run --help"}},
      {"run M.json --backend float --inptu x.npy", {"'--input'"}},
      {"run M.json --backend float --input x.npy --thread 2", {"'--threads'"}},
      {"--color always comapre M.json", {"unknown subcommand 'comapre'", "'compare'"}},
      {"--colr always backends", {"unknown option '--colr' before the command", "'--color'", "lastbit --help lists the options"}},
      {"--color alwys backends", {"--color", "alwys", "always"}},
      {"--json backends", {"unknown option '--json' before the command"}},
      {"--backend float run M.json", {"2 problems", "unknown option '--backend' before the command", "run: --backend is needed"}},
      {"--colr", {"unknown option '--colr'", "'--color'"}},
      {"compare M.json --a float --b float --input x.npy --max-lbs 1", {"'--max-lsb'"}},
      {"compare M.json --a float --b float --input x.npy --jsn --goldn", {"2 problems", "'--json'", "'--golden'"}},
      {"prove M.json --backend float --layr 1", {"'--layer'"}},
      {"verify", {"verify: directory is needed"}},
      {"shrink M.json", {"2 problems", "--a is needed", "--b is needed"}},
      {"run", {"2 problems", "model is needed", "--backend is needed"}},
      {"sweep M.json", {"--input is needed", "--backend is needed"}},
      {"run M.json --backend float --input x.npy --threads 0", {"--threads"}},
      {"run M.json --backend float --input x.npy --threads many", {"--threads"}},
      {"run M.json M.json --backend float", {"unexpected argument"}},
      {"prove M.json --backend float --input-range dta", {"--input-range", "data"}},
      {"run M.json --backend float --input x.npy --max-memory lots", {"--max-memory lots"}},
      {"demo digts", {"unknown demo 'digts'", "'digits'"}},
      // Backends and rules.
      {"describe vipnano_v9", {"unknown backend 'vipnano_v9'", "'vipnano_v8'", "lastbit backends lists them"}},
      {"describe tflite", {"'tflite_double'"}},
      {"describe TFLITE_DOUBLE", {"'tflite_double'"}},
      {"diff-backends gna2 gna33", {"unknown backend 'gna33'", "'gna2'"}},
      {"run M.json --backend onnxruntim --input x.npy", {"'onnxruntime'"}},
      {"compare M.json --a float --b ascend310b --input x.npy", {"unknown backend 'ascend310b'", "'ascend310'"}},
      {"sweep M.json --input x.npy --backend float,xnpack", {"'xnnpack'"}},
      {"run M.json --backend absent.json --input x.npy", {"absent.json"}},
      {"describe tflite_double --set conv.i8.accumulatr.bits=16", {"accumulatr", "'conv.i8.accumulator'", "--rules lists the rules"}},
      {"describe tflite_double --set conv.i8.accumulator.overflow=wrp", {"'wrap'"}},
      {"describe tflite_double --set conv.i8.accumulatr.bits=16 --set conv.i8.accumulator.bits=99 --set x", {"3 problems", "RULE=VALUE"}},
      {"run M.json --backend misspelt.json", {"2 problems", "titel", "'title'", "setings", "'settings'"}},
      {"run M.json --backend rules.json", {"2 problems", "conv.i8.acumulator", "add.i8.oprand"}},
      {"run M.json --backend n2d2_single_shift --input x.npy", {"n2d2_single_shift: ", "lastbit describe n2d2_single_shift"}},
      {"compare M.json --a n2d2_single_shift --b gna2 --input x.npy", {"n2d2_single_shift: ", "gna2: "}},
      {"run M.json --backend gna2 --input x.npy", {"problems", "conv2d 'conv1'", "depthwise_conv2d"}},
      // Models, inputs, layers.
      {"run absent.tflite --backend float", {"absent.tflite"}},
      {"run x.npy --backend float", {"x.npy"}},
      {"run M.json --backend float", {"--input", "'image' (int8"}},
      {"run M.json --backend float --input absent.npy", {"absent.npy"}},
      {"run M.json --backend float --input imge=x.npy", {"no input of this name", "'image'"}},
      {"run M.json --backend float --input x.npy --input x.npy", {"one too many"}},
      {"run M.json --backend float --input M.json", {"M.json"}},
      {"run open.onnx --backend float --input x.npy", {"open.onnx: input 'x': dimension 2 'height' is open", "--shape x=1x3x?"}},
      {"run open.onnx --backend float --shape x=1x3x5", {"'x' (float32 1x3x5)"}},
      {"compare open.onnx --a float --b float --shape x=1x4x5 --input x.npy", {"shape 1x4x5 is given; the file says ?x3x?"}},
      {"prove open.onnx --backend float --shape y=1x3x5", {"a shape is given for 'y'; the inputs are 'x'"}},
      {"run open.onnx --backend float --shape x=1x3x", {"--shape x=1x3x: must be the name of an input and sizes"}},
      {"run open.onnx --backend float --shape x=1x3x5 --shape x=1x3x6", {"--shape x=1x3x6: the input is named twice"}},
      {"run M.json --backend float --shape image=1x2", {"only .onnx files take constants of inputs, and they and .tflite files shapes"}},
      {"run open.onnx --backend float --bind x", {"--bind x: must be the name of an input and a file"}},
      {"run open.onnx --backend float --bind z=x.npy", {"a constant is given for 'z', which is no input"}},
      {"explain M.json --a float --b xnnpack --input x.npy --layer conv3", {"no layer is called 'conv3'", "'conv1'", "from 0 to"}},
      {"prove M.json --backend xnnpack --layer residul", {"'residual'"}},
      {"certify M.json --a xnnpack", {"--a and --b, two backends, are needed"}},
      {"certify M.json --fingerprint", {"--fingerprint is of one backend, --a"}},
      {"certify M.json --a xnnpack --b vipnano_v8 --check M.json", {"M.json.format", "is not lastbit.certificate.v2"}},
      {"matrix M.json --backend xnnpack", {"fewer than two of the backends run this network"}},
      {"certify M.json --a xnnpack --b float --layer 99", {"no layer is called '99'"}},
      {"certify M.json --a xnnpack --b vipnano_v8 --input-range data", {"the range of the data needs inputs"}},
      {"migrate M.json M.json", {"--backend is needed, the device of both networks"}},
      {"migrate M.json", {"new is needed"}},
      {"migrate xnnpack float --model M.json --backend float", {"there is no other --backend"}},
      {"migrate xnnpack flaot --model M.json", {"'float'"}},
      {"migrate M.json absent.json --backend xnnpack", {"absent.json"}},
      {"migrate M.json M.json --backend gna2", {"old network: conv2d 'conv1'", "new network: conv2d 'conv1'"}},
      {"prove M.json --backend xnnpack --layer 99", {"no layer is called '99'"}},
      {"shrink M.json --a xnnpack --b vipnano_v8 --input x.npy --layer logit", {"'logits'"}},
      {"advise M.json --a float --b vipnano_v8 --input x.npy --at logit", {"'logits'"}},
      {"run wrong.json --backend float", {"2 problems", "'tensrs'", "'tensors'", "'operatons'", "'operations'"}},
      {"layer conv2d --backend float --input x.npy --weights x.npy --strid 2", {"'strid'", "'stride'"}},
      {"quantize M.json --backend vipnano_v8 --input x.npy --set rnge=max --set x=1", {"2 problems", "rnge=max", "'range'", "x=1"}},
      {"quantize M.json --backend vipnano_v8", {"--input is needed"}},
      {"quantize M.json --backend vipnano_v8 --input x.npy -o q.onnx", {"q.onnx", ".json or .tflite"}},
      {"identify M.json --dump absent", {"absent"}},
      {"identify M.json", {"--dump is needed"}},
      {"explain M.json --a float", {"--dump"}},
      {"explain M.json --dump . ", {"--backend is needed"}},
      {"compare M.json --dump absent", {"--backend is needed", "lastbit backends"}},
      {"compare M.json", {"--b is needed"}},
      {"replay --float M.json --dump . --b xnnpack", {"a model is needed: the network that the board computes"}},
      {"replay M.json --backend xnnpack", {"--dump is needed"}},
      {"replay M.json --dump absent", {"--backend is needed", "lastbit backends"}},
      {"replay --dump absent --backend xnnpack", {"model is needed"}},
      {"replay M.json --dump absent --backend xnpack", {"'xnnpack'"}},
      {"replay M.json --dump absent --backend xnnpack", {"absent"}},
      {"replay M.json --flaot M.json --dump . --backend xnnpack", {"'--float'"}},
      {"replay M.json --float absent.onnx --dump . --backend xnnpack", {"absent.onnx"}},
      {"compare . .", {"trace.json"}},
      // Tolerances.
      {"compare M.json --a float --b float --input x.npy --max-share 200%", {"--max-share", "'200%' is no share"}},
      {"compare M.json --a float --b float --input x.npy --max-lsb -1", {"--max-lsb"}},
      {"compare M.json --a float --b float --input x.npy --min-cosine 2", {"--min-cosine 2"}},
      {"compare M.json --a float --b float --input x.npy --tolerances absent.json", {"absent.json"}},
      {"compare M.json --a float --b float --input x.npy --tolerances t.json", {"2 problems", "'conv3'", "'logit'", "'logits'"}},
      {"verify absent", {"absent"}},
      {std::string(500, 'x') + " " + std::string(500, 'y'), {"unknown subcommand"}},
      {"describe " + std::string(3000, 'z'), {"unknown backend"}},
  };
}

void prepare(const Shell& shell) {
  const std::string digits = (test::source_directory() / "examples/digits").string();
  std::filesystem::copy(digits, shell.file("."),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  std::filesystem::rename(shell.file("model.json"), shell.file("M.json"));
  std::filesystem::rename(shell.file("test_images.npy"), shell.file("x.npy"));
  std::filesystem::copy(test::source_directory() / "fuzz/corpus/onnx_fuzz/open_shape.onnx", shell.file("open.onnx"));
  const std::string head = R"({"format": "lastbit.backend.v1", "name": "mine", "title": "mine", "extends": "xnnpack")";
  shell.write("misspelt.json", head + R"(, "titel": "x", "setings": []})");
  shell.write("rules.json", head + R"(, "rules": {"conv": {"i8": {"acumulator": {"bits": 32}}}, "add": {"i8": {"oprand": {"x": 1}}}}})");
  shell.write("wrong.json", R"({"format": "lastbit.model.v1", "tensrs": [], "operatons": [], "inputs": [], "outputs": []})");
  shell.write("t.json",
              R"({"default": {"max_lsb": 1}, "layers": {"conv3": {"max_lsb": 2}, "logit": {"max_lsb": 2}, "conv1": {"max_lsb": 2}}})");
}

/// Behind "lastbit: ", or the spaces that the line begins with.
bool is_one_word(const std::string& line) {
  const std::size_t begin = line.starts_with("lastbit: ") ? 9 : line.find_first_not_of(' ');
  return line.find(' ', begin) == std::string::npos;
}

}  // namespace

TEST_CASE("a mistake ends with status 2 and a message that says what to do") {
  const Shell shell;
  prepare(shell);
  const std::vector<Mistake> all = mistakes();
  REQUIRE(all.size() >= 60);
  for (const Mistake& mistake : all) {
    INFO(mistake.words.substr(0, 200));
    CHECK(shell.status(mistake.words) == 2);
    const std::string said = shell.text("err");
    INFO(said);
    CHECK(said.starts_with("lastbit: "));
    std::istringstream lines(said);
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line); ++number) {
      CHECK((line.size() <= 200 || is_one_word(line)));
      CHECK((number == 0 || line.starts_with("  ")));
    }
    for (const std::string& text : mistake.told) {
      INFO("told: " << text);
      CHECK((said.find(text) != std::string::npos));
    }
  }
}

TEST_CASE("the names that may have been meant: few letters away first, then those that contain the text") {
  const std::vector<std::string> names{"tflite_double", "tflite_single",          "xnnpack",
                                       "gna2",          "model/conv2d_3/Conv2D1", "model/dense/BiasAdd"};
  CHECK(did_you_mean("xnpack", names) == "; did you mean 'xnnpack'?");
  CHECK(did_you_mean("tflite", names) == "; did you mean 'tflite_double' or 'tflite_single'?");
  CHECK(did_you_mean("conv2d_3", names) == "; did you mean 'model/conv2d_3/Conv2D1'?");
  CHECK(did_you_mean("GNA2", names) == "; did you mean 'gna2'?");
  CHECK(did_you_mean("qqqqqqqqqq", names).empty());
  CHECK(did_you_mean("", names).empty());
}
