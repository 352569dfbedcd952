# Everything comes from the system. Compiled code alone sees these packages; no public header does. Threads, oneTBB and ONNX are linked, so an
# installed lastbit asks for them again (lastbit-config.cmake.in).
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(xsimd REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(flatbuffers REQUIRED CONFIG NAMES flatbuffers FlatBuffers Flatbuffers)  # the name differs between releases
if(TARGET flatbuffers::flatbuffers)
  set(LASTBIT_FLATBUFFERS flatbuffers::flatbuffers)
else()
  set(LASTBIT_FLATBUFFERS flatbuffers)
endif()
find_package(Protobuf REQUIRED)  # ONNX's targets name its target
find_package(ONNX REQUIRED)
if(TARGET ONNX::onnx_proto)
  set(LASTBIT_ONNX ONNX::onnx_proto)
else()
  set(LASTBIT_ONNX onnx_proto)  # before version 1.15
endif()
find_program(LASTBIT_FLATC flatc REQUIRED)
mark_as_advanced(LASTBIT_FLATC)

if(LASTBIT_TOOLS OR LASTBIT_BENCHMARKS)
  find_package(CLI11 REQUIRED)
endif()
if(LASTBIT_TOOLS)
  find_package(spdlog REQUIRED)
endif()
if(LASTBIT_TESTS OR LASTBIT_EXAMPLES)
  find_package(Catch2 REQUIRED)  # version 2 and version 3 both serve
endif()
if(LASTBIT_EXAMPLES)
  find_package(GTest REQUIRED)
endif()
if(LASTBIT_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
