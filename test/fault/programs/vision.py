from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor((), "float32"):
        n = T.int64()
        boxes = R.expand_dims(R.multiply(x, R.const(3.0, "float32")), axis=0)
        scores = R.reshape(x, R.shape([1, 4, n]))
        a = R.vision.dynamic_non_max_suppression(boxes, scores, R.const(2, "int64"), R.const(0.5, "float32"), R.const(0.0, "float32"))
        b = R.vision.all_class_non_max_suppression(boxes, scores, R.const(2, "int64"), R.const(0.5, "float32"), R.const(0.0, "float32"))
        c = R.vision.get_valid_counts(R.concat((boxes, boxes), axis=2), score_threshold=0.0, id_index=-1, score_index=1)
        d = R.vision.non_max_suppression(c[1], c[0], c[2], return_indices=False, id_index=-1, score_index=1, coord_start=4)
        m = R.median(x, axis=[1])
        image = R.reshape(x, R.shape([1, 1, n, 4]))
        p = R.nn.max_pool2d_with_indices(image, pool_size=[1, 2])
        r = R.image.resize(image, R.shape([3, 2]), axes=[2, 3], antialias=True)
        f = R.nn.deformable_conv2d(image, R.zeros(R.shape([1, 2, n, 4]), "float32"), R.ones(R.shape([1, 1, 1, 1]), "float32"))
        q = R.vision.roi_align(image, R.const([[0.0, 0.0, 0.0, 3.0, 1.0]], "float32"), (2, 2), 1.0)
        u = R.random.normal(R.shape([2, n]), seed=3)
        g = R.linalg.det(R.matmul(R.permute_dims(x), x))
        sums = (R.sum(R.astype(a, "float32")), R.sum(R.astype(b[0], "float32")), R.sum(d), R.sum(m[0]), R.sum(R.astype(p[1], "float32")),
                R.sum(r), R.sum(f), R.sum(q), R.sum(u), g)
        s = R.sum(R.stack(sums))
        return s
