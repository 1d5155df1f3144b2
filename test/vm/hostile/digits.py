# A small network with its weights inside.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 2), "float32"):
        n = T.int64()
        with R.dataflow():
            w1 = R.const([[0.5, -1.0, 2.0], [1.0, 0.25, 0.0], [3.0, 1.0, 1.0], [0.0, 1.0, -2.0]], "float32")
            b1 = R.const([0.5, 0.0, -0.5], "float32")
            w2 = R.const([[1.0, 2.0], [0.5, -0.5], [1.0, 1.0]], "float32")
            h = R.nn.relu(R.add(R.matmul(x, w1), b1))
            y = R.nn.softmax(R.matmul(h, w2), axis=-1)
            R.output(y)
        return y
