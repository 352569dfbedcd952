# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds record_tflm.cpp with TensorFlow Lite Micro's reference kernels. In a folder in which the sources of tflite-micro, flatbuffers, gemmlowp
# and ruy lie beside each other (tests/vectors/networks/networks.json names their commits):
#
#   make -f LASTBIT/python/networks/record_tflm.mk [PROGRAM=tflite_single]
HERE := $(dir $(lastword $(MAKEFILE_LIST)))
LITE := tflite-micro/tensorflow/lite
MLIR := tflite-micro/tensorflow/compiler/mlir/lite
FLAGS := -std=c++17 -O1 -DNDEBUG -fno-exceptions -fno-rtti -ffp-contract=off -w -DTF_LITE_STATIC_MEMORY -DTF_LITE_DISABLE_X86_NEON \
         -Itflite-micro -Iflatbuffers/include -Igemmlowp -Iruy
KERNELS := activations add arg_min_max batch_matmul broadcast_to concatenation conv decompress depth_to_space depthwise_conv dequantize \
           elementwise fully_connected gather hard_swish kernel_util leaky_relu logistic lstm_eval maximum_minimum micro_tensor_utils \
           mirror_pad mul pack pad pooling prelu quantize reduce reshape resize_bilinear resize_nearest_neighbor slice softmax \
           space_to_depth split split_v squeeze strided_slice sub svdf tanh transpose transpose_conv unidirectional_sequence_lstm unpack
SOURCES := $(wildcard $(addsuffix /*.cc,$(LITE)/micro $(LITE)/micro/memory_planner $(LITE)/micro/arena_allocator \
                        $(LITE)/micro/tflite_bridge $(LITE)/core/c $(LITE)/core/api $(LITE)/kernels $(LITE)/kernels/internal \
                        $(LITE)/kernels/internal/reference $(MLIR)/core/api $(MLIR)/schema)) \
           $(wildcard $(foreach kernel,$(KERNELS),$(LITE)/micro/kernels/$(kernel).cc $(LITE)/micro/kernels/$(kernel)_common.cc))
SOURCES := $(filter-out %_test.cc %_test_common.cc %test_helpers.cc %/fake_micro_context.cc %/mock_micro_graph.cc %/hexdump.cc \
                        %/recording_micro_allocator.cc,$(SOURCES))

PROGRAM ?= tflite_double
ifeq ($(PROGRAM),tflite_single)
FLAGS += -DTFLITE_SINGLE_ROUNDING=1
endif

$(PROGRAM): $(HERE)record_tflm.cpp $(SOURCES:%.cc=objects/$(PROGRAM)/%.o)
	$(CXX) $(FLAGS) $^ -o $@

objects/$(PROGRAM)/%.o: %.cc
	@mkdir -p $(dir $@)
	$(CXX) $(FLAGS) -c $< -o $@
