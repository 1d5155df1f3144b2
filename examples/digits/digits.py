# A multilayer perceptron that reads handwritten digits: 8x8 pixels in, ten probabilities out.
# The batch size is symbolic: one compiled file serves any number of images.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Digits:
    @R.function
    def main(
        images: R.Tensor(("batch", 64), "float32"),
        w1: R.Tensor((64, 128), "float32"),
        b1: R.Tensor((128,), "float32"),
        w2: R.Tensor((128, 64), "float32"),
        b2: R.Tensor((64,), "float32"),
        w3: R.Tensor((64, 10), "float32"),
        b3: R.Tensor((10,), "float32"),
    ) -> R.Tensor(("batch", 10), "float32"):
        batch = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            hidden1 = R.nn.relu(R.add(R.matmul(images, w1), b1))
            hidden2 = R.nn.relu(R.add(R.matmul(hidden1, w2), b2))
            scores = R.add(R.matmul(hidden2, w3), b3)
            probabilities = R.nn.softmax(scores, axis=-1)
            R.output(probabilities)
        return probabilities
