#!/usr/bin/env python3
"""Functions that are values: captured tensors, functions and sizes, recursion, functions chosen, stored, passed and given back, with the
checks that their signatures ask for. Each program runs on both targets and at all optimisation levels.
"""
import os
import re

import numpy as np

from cli_test import Suite

s = Suite()
HEAD = """from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:
"""


def run(name, text, inputs, want=None, err=None, opts=()):
    """The results are `want`, or the run fails with a message that `err` (a regular expression) is found in."""
    s.write(f"{name}.py", HEAD + text)
    command = ["run", f"{name}.py", "--output", f"out_{name}", *opts]
    for i, value in enumerate(inputs):
        if not isinstance(value, str):
            np.save(s.path(f"{name}_{i}.npy"), value)
            value = f"{name}_{i}.npy"
        command += ["--input", value]
    for level, target in (("0", "interp"), ("1", "interp"), ("2", "interp"), ("1", "c")):
        what = f"{name} at level {level} on {target}"
        rc, _, error = s.run(*command, "--opt", level, "--target", target, "--cache", "", env={"RELAX_CC": os.environ.get("CC", "cc")})
        if err:
            s.check(what, rc == 1 and re.search(err, error), (rc, error))
            continue
        if not s.equal(what, (rc, error), (0, "")):
            continue
        got = [np.load(s.path(f"out_{name}/{i}.npy")) for i in range(len(want))]
        s.check(f"{what}: numbers", all(np.array_equal(g, w) for g, w in zip(got, want)), (got, want))


f = np.float32
x = np.array([1, 2, 3], f)
c = np.array([10, 20, 30], f)
run('capture_scalar','''
    @R.function
    def main(x: R.Tensor((3,), "float32"), kk: R.Prim(value="k")) -> R.Shape(ndim=1):
        k = T.int64()

        @R.function
        def get() -> R.Shape([k + 1]):
            return R.shape([k + 1])
        s = get()
        return s
''',[x,'int64:5'],[np.array([6])])
run('recursive','''
    @R.function
    def main(x: R.Tensor((3,), "float32"), n: R.Tensor((), "int64")) -> R.Tensor((3,), "float32"):
        @R.function
        def loop(i: R.Tensor((), "int64"), s: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            c = R.less(i, n)
            if c:
                j = R.add(i, R.const(1, "int64"))
                t = R.add(s, x)
                r = loop(j, t)
            else:
                r = s
            return r
        y = loop(R.const(0, "int64"), x)
        return y
''',[x,np.array(20000)],[x*20001])
run('self_value','''
    @R.function
    def main(x: R.Tensor((3,), "float32"), n: R.Tensor((), "int64")) -> R.Tensor((3,), "float32"):
        @R.function
        def loop(i: R.Tensor((), "int64"), s: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            c = R.less(i, n)
            if c:
                j = R.add(i, R.const(1, "int64"))
                t = R.add(s, x)
                me = loop
                r = me(j, t)
            else:
                r = s
            return r
        y = loop(R.const(0, "int64"), x)
        return y
''',[x,np.array(20000)],[x*20001])
run('chosen','''
    @R.function
    def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((3,), "float32"):
        @R.function
        def a(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            z = R.add(y, x)
            return z
        @R.function
        def b(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            z = R.multiply(y, x)
            return z
        if c:
            g = a
        else:
            g = b
        t = (a, g, x)
        h = t[1]
        r = h(t[2])
        return r
''',[x,np.array(False)],[x*x])
run('returned','''
    @R.function(private=True)
    def adder(c: R.Tensor(("n",), "float32")) -> R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32")):
        n = T.int64()
        @R.function
        def inner(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            z = R.add(y, c)
            return z
        return inner
    @R.function
    def main(x: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        f = Module.adder(c)
        g = Module.adder(x)
        a: R.Tensor((3,), "float32") = f(x)
        b: R.Tensor((3,), "float32") = g(a)
        return b
''',[x,c],[x+c+x])
run('two_sizes','''
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((5,), "float32"), k: R.Tensor((), "float32")) -> R.Tuple(R.Tensor((3,), "float32"), R.Tensor((5,), "float32")):
        @R.function
        def scale(v: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            m = T.int64()
            z = R.multiply(v, k)
            return z
        a = scale(x)
        b = scale(y)
        return (a, b)
''',[x,np.arange(5,dtype=f),np.array(2,f)],[x*2,np.arange(5,dtype=f)*2])
run('nested','''
    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        @R.function
        def outer(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            @R.function
            def inner(w: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
                a = R.add(w, c)
                b = R.multiply(a, y)
                return b
            r = inner(y)
            q = inner(r)
            return q
        z = outer(x)
        return z
''',[x,c],[((x+c)*x+c)*x])
run('size_captured','''
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        m = T.int64()
        @R.function
        def f(w: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            b = R.add(w, R.ones((n,), "float32"))
            return b
        g: R.Object = f
        h = R.match_cast(g, R.Callable((R.Object,), R.Object))
        r0 = h(y)
        r = R.match_cast(r0, R.Tensor((n,), "float32"))
        return r
''',[x,np.arange(5,dtype=f)],err='RT05')
run('bad_sig','''
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        @R.function
        def f(w: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            b = R.add(w, R.ones((n,), "float32"))
            return b
        g: R.Object = f
        h = R.match_cast(g, R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32")))
        return x
''',[x],err='RT06')
run('good_sig','''
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor((3,), "float32"):
        n = T.int64()
        @R.function
        def f(w: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            b = R.add(w, R.ones((n,), "float32"))
            return b
        g: R.Object = f
        h = R.match_cast(g, R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")))
        y = h(R.ones((3,), "float32"))
        return y
''',[x],[np.full(3,2,f)])
run('cps','''
    @R.function(private=True)
    def down(i: R.Tensor((), "int64"), k: R.Callable((R.Tensor((), "int64"),), R.Tensor((), "int64"))) -> R.Tensor((), "int64"):
        c = R.less(i, R.const(1, "int64"))
        if c:
            r: R.Tensor((), "int64") = k(i)
        else:
            j = R.subtract(i, R.const(1, "int64"))
            @R.function
            def next(v: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
                w = R.add(v, R.const(2, "int64"))
                q: R.Tensor((), "int64") = k(w)
                return q
            r = Module.down(j, next)
        return r
    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        @R.function
        def id(v: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            return v
        y = Module.down(n, id)
        return y
''',[np.array(100000)],[np.array(200000)])
run('impure','''
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function(pure=False)
        def f(w: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            _ = R.print(w, format="{}")
            b = R.add(w, x)
            return b
        y = f(x)
        return y
''',[x],[x+x])
run('compose','''
    @R.function(private=True)
    def compose(f: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")), g: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"))) -> R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")):
        @R.function
        def h(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            a: R.Tensor((3,), "float32") = f(x)
            b: R.Tensor((3,), "float32") = g(a)
            return b
        return h
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function
        def inc(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.add(v, R.const(1, "float32"))
            return w
        @R.function
        def mul(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.multiply(v, x)
            return w
        h = Module.compose(inc, mul)
        k = Module.compose(h, h)
        r: R.Tensor((3,), "float32") = k(x)
        return r
''',[x],[((x+1)*x+1)*x])
run('dataflow','''
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            @R.function
            def f(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                w = R.add(v, x)
                return w
            y = f(x)
            R.output(y)
        return y
''',[x],[x+x])
run('deep','''
    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        @R.function
        def f(i: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            c = R.less(i, n)
            if c:
                j = R.add(i, R.const(1, "int64"))
                s = f(j)
                r = R.add(s, R.const(1, "int64"))
            else:
                r = R.const(0, "int64")
            return r
        y = f(R.const(0, "int64"))
        return y
''',[np.array(99990)],[np.array(99990)],opts=['--max-depth','100000'])
run('primfunc','''
    @T.prim_func(private=True)
    def inc(a: T.Buffer((3,), "float32"), b: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("b"):
                v = T.axis.spatial(3, i)
                b[v] = a[v] + T.float32(1)
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        out = R.builtin.alloc_tensor(R.shape([3]), R.dtype("float32"), R.prim_value(0))
        f = Module.inc
        g = R.make_closure(Module.inc, (out,))
        _ = R.invoke_closure(g, (x,), sinfo_args=R.Object)
        return out
''',[x],[x+1])

run('through_tuple_argument', '''
    @R.function(private=True)
    def pick(t: R.Tuple(R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")), R.Tensor((3,), "float32"))) -> R.Tensor((3,), "float32"):
        f = t[0]
        y: R.Tensor((3,), "float32") = f(t[1])
        return y
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function
        def twice(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.add(v, x)
            return w
        r = Module.pick((twice, x))
        return r
''', [x], [x + x])
run('made_in_recursion', '''
    @R.function(private=True)
    def build(i: R.Tensor((), "int64"), f: R.Callable((R.Tensor((), "int64"),), R.Tensor((), "int64"))) -> R.Callable((R.Tensor((), "int64"),), R.Tensor((), "int64")):
        c = R.less(i, R.const(1, "int64"))
        if c:
            r = f
        else:
            @R.function
            def g(v: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
                a: R.Tensor((), "int64") = f(v)
                b = R.add(a, i)
                return b
            j = R.subtract(i, R.const(1, "int64"))
            r = Module.build(j, g)
        return r
    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        @R.function
        def id(v: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            return v
        f = Module.build(n, id)
        y: R.Tensor((), "int64") = f(R.const(5, "int64"))
        return y
''', [np.array(1000)], [np.array(500505)])
run('wrong_number', '''
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Object:
        @R.function
        def f(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.add(v, x)
            return w
        g: R.Object = f
        h = R.match_cast(g, R.Callable((R.Tensor((3,), "float32"), R.Tensor((3,), "float32")), R.Object))
        return x
''', [x], err='takes 1 argument')
run('wrong_argument', '''
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Object:
        @R.function
        def f(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.add(v, x)
            return w
        g: R.Object = f
        y = R.invoke_pure_closure(g, (R.const(1, "int64"),), sinfo_args=R.Object)
        return y
''', [x], err=r'RT03.*argument 1 \(v\) of main_f')
run('no_function', '''
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Object:
        g: R.Object = x
        y = R.invoke_pure_closure(g, (x,), sinfo_args=R.Object)
        return y
''', [x], err='RT18')
run('purity', '''
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")) -> R.Object:
        @R.function(pure=False)
        def f(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            _ = R.print(v, format="{}")
            w = R.add(v, x)
            return w
        g: R.Object = f
        h = R.match_cast(g, R.Callable((R.Tensor((3,), "float32"),), R.Object, purity=True))
        return x
''', [x], err='impure')
run('closure_of_closure', '''
    @R.function(private=True)
    def three(a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        d = R.subtract(a, b)
        e = R.multiply(d, c)
        return e
    @R.function
    def main(x: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        f = R.make_closure(Module.three, (c,))
        g = R.make_closure(f, (x,))
        y = R.invoke_pure_closure(g, (R.const([5.0, 5.0, 5.0], "float32"),), sinfo_args=R.Tensor((3,), "float32"))
        return y
''', [x, c], [(5 - x) * c])
s.done()
