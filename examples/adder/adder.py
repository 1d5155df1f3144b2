# A decoder-only transformer that adds two three-digit numbers: "357+468=" is continued by "5280\n", the sum with its
# last digit first. Two layers, Llama style: RMSNorm, rotary positions, causal attention with four heads, SwiGLU.
#
# prefill reads a prompt of any length; decode continues by one token. Keys and values of all tokens so far lie in
# buffers of the caller with room for m of them; each call appends its own in place, so nothing is copied when the
# sequence grows. Both functions are impure for that reason. Weights are stored (out, in); here they are turned round
# once, when they are bound.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Adder:
    @T.prim_func(private=True)
    def angles(cosine: T.handle, sine: T.handle, past: T.int64):
        """Rotary positions: token past + i turns the pair of channels c by (past + i) * 10000^(-c / 8)."""
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        Cos = T.match_buffer(cosine, (n, T.int64(8)), "float32")
        Sin = T.match_buffer(sine, (n, T.int64(8)), "float32")
        for i, c in T.grid(n, T.int64(8)):
            with T.block("angle"):
                vi, vc = T.axis.remap("SS", [i, c])
                position: T.float32 = T.Cast("float32", past + vi)
                angle: T.float32 = position * T.pow(T.float32(10000), T.Cast("float32", vc) * T.float32(-0.125))
                Cos[vi, vc] = T.cos(angle)
                Sin[vi, vc] = T.sin(angle)

    @T.prim_func(private=True)
    def rotate(x: T.handle, cosine: T.handle, sine: T.handle, y: T.handle):
        """(a, b) becomes (a cos - b sin, b cos + a sin), where a and b are the halves of a head."""
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(64)), "float32")
        Cos = T.match_buffer(cosine, (n, T.int64(8)), "float32")
        Sin = T.match_buffer(sine, (n, T.int64(8)), "float32")
        Y = T.match_buffer(y, (n, T.int64(64)), "float32")
        for i, h, c in T.grid(n, T.int64(4), T.int64(8)):
            with T.block("rotate"):
                vi, vh, vc = T.axis.remap("SSS", [i, h, c])
                a: T.int64 = vh * T.int64(16) + vc
                b: T.int64 = vh * T.int64(16) + vc + T.int64(8)
                Y[vi, a] = X[vi, a] * Cos[vi, vc] - X[vi, b] * Sin[vi, vc]
                Y[vi, b] = X[vi, b] * Cos[vi, vc] + X[vi, a] * Sin[vi, vc]

    @T.prim_func(private=True)
    def append(cache: T.handle, rows: T.handle, past: T.int64):
        """Writes the rows behind the `past` rows that the cache holds."""
        T.func_attr({"tir.noalias": True})
        m, n = T.int64(), T.int64()
        Cache = T.match_buffer(cache, (m, T.int64(64)), "float32")
        Rows = T.match_buffer(rows, (n, T.int64(64)), "float32")
        for i, c in T.grid(n, T.int64(64)):
            with T.block("append"):
                vi, vc = T.axis.remap("SS", [i, c])
                Cache[past + vi, vc] = Rows[vi, vc]

    @T.prim_func(private=True)
    def attention_weights(q: T.handle, keys: T.handle, w: T.handle, past: T.int64):
        """Per head, the softmax of q k^T / sqrt(16) over the tokens up to the query's own."""
        T.func_attr({"tir.noalias": True})
        n, m = T.int64(), T.int64()
        Q = T.match_buffer(q, (n, T.int64(64)), "float32")
        Keys = T.match_buffer(keys, (m, T.int64(64)), "float32")
        W = T.match_buffer(w, (T.int64(4), n, past + n), "float32")
        score = T.alloc_buffer((T.int64(4), n, past + n), "float32")
        highest = T.alloc_buffer((T.int64(4), n), "float32")
        total = T.alloc_buffer((T.int64(4), n), "float32")
        for h, i, j, c in T.grid(T.int64(4), n, past + n, T.int64(16)):
            with T.block("score"):
                vh, vi, vj, vc = T.axis.remap("SSSR", [h, i, j, c])
                with T.init():
                    score[vh, vi, vj] = T.float32(0)
                score[vh, vi, vj] = score[vh, vi, vj] + Q[vi, vh * T.int64(16) + vc] * Keys[vj, vh * T.int64(16) + vc]
        for h, i, j in T.grid(T.int64(4), n, past + n):
            with T.block("highest"):
                vh, vi, vj = T.axis.remap("SSR", [h, i, j])
                with T.init():
                    highest[vh, vi] = T.min_value("float32")
                highest[vh, vi] = T.max(highest[vh, vi], T.if_then_else(vj <= past + vi, score[vh, vi, vj], T.min_value("float32")))
        for h, i, j in T.grid(T.int64(4), n, past + n):
            with T.block("power"):
                vh, vi, vj = T.axis.remap("SSS", [h, i, j])
                W[vh, vi, vj] = T.if_then_else(
                    vj <= past + vi, T.exp((score[vh, vi, vj] - highest[vh, vi]) * T.float32(0.25)), T.float32(0)
                )
        for h, i, j in T.grid(T.int64(4), n, past + n):
            with T.block("total"):
                vh, vi, vj = T.axis.remap("SSR", [h, i, j])
                with T.init():
                    total[vh, vi] = T.float32(0)
                total[vh, vi] = total[vh, vi] + W[vh, vi, vj]
        for h, i, j in T.grid(T.int64(4), n, past + n):
            with T.block("divide"):
                vh, vi, vj = T.axis.remap("SSS", [h, i, j])
                W[vh, vi, vj] = W[vh, vi, vj] / total[vh, vi]

    @T.prim_func(private=True)
    def attend(w: T.handle, values: T.handle, y: T.handle, past: T.int64):
        """The values of all tokens so far, weighted, heads side by side."""
        T.func_attr({"tir.noalias": True})
        n, m = T.int64(), T.int64()
        W = T.match_buffer(w, (T.int64(4), n, past + n), "float32")
        Values = T.match_buffer(values, (m, T.int64(64)), "float32")
        Y = T.match_buffer(y, (n, T.int64(64)), "float32")
        for i, h, j, c in T.grid(n, T.int64(4), past + n, T.int64(16)):
            with T.block("attend"):
                vi, vh, vj, vc = T.axis.remap("SSRS", [i, h, j, c])
                with T.init():
                    Y[vi, vh * T.int64(16) + vc] = T.float32(0)
                Y[vi, vh * T.int64(16) + vc] = Y[vi, vh * T.int64(16) + vc] + W[vh, vi, vj] * Values[vj, vh * T.int64(16) + vc]

    @R.function(private=True, pure=False)
    def layer(
        hidden: R.Tensor(("n", 64), "float32"),
        cosine: R.Tensor(("n", 8), "float32"),
        sine: R.Tensor(("n", 8), "float32"),
        keys: R.Tensor(("m", 64), "float32"),
        values: R.Tensor(("m", 64), "float32"),
        past: R.Shape(["past_length"]),
        attention_norm: R.Tensor((64,), "float32"),
        query_weight: R.Tensor((64, 64), "float32"),
        key_weight: R.Tensor((64, 64), "float32"),
        value_weight: R.Tensor((64, 64), "float32"),
        output_weight: R.Tensor((64, 64), "float32"),
        mlp_norm: R.Tensor((64,), "float32"),
        gate_weight: R.Tensor((64, 192), "float32"),
        up_weight: R.Tensor((64, 192), "float32"),
        down_weight: R.Tensor((192, 64), "float32"),
    ) -> R.Tensor(("n", 64), "float32"):
        n, m, past_length = T.int64(), T.int64(), T.int64()
        cls = Adder
        x = R.nn.rms_norm(hidden, attention_norm, axes=[-1], epsilon=1e-5)
        query = R.call_tir(cls.rotate, (R.matmul(x, query_weight), cosine, sine), out_sinfo=R.Tensor((n, 64), "float32"))
        key = R.call_tir(cls.rotate, (R.matmul(x, key_weight), cosine, sine), out_sinfo=R.Tensor((n, 64), "float32"))
        all_keys = R.call_tir_inplace(
            cls.append, (keys, key), [0], out_sinfo=R.Tensor((m, 64), "float32"), tir_vars=R.shape([past_length])
        )
        all_values = R.call_tir_inplace(
            cls.append,
            (values, R.matmul(x, value_weight)),
            [0],
            out_sinfo=R.Tensor((m, 64), "float32"),
            tir_vars=R.shape([past_length]),
        )
        weights = R.call_tir(
            cls.attention_weights,
            (query, all_keys),
            out_sinfo=R.Tensor((4, n, past_length + n), "float32"),
            tir_vars=R.shape([past_length]),
        )
        heads = R.call_tir(
            cls.attend, (weights, all_values), out_sinfo=R.Tensor((n, 64), "float32"), tir_vars=R.shape([past_length])
        )
        attended = R.add(hidden, R.matmul(heads, output_weight))
        y = R.nn.rms_norm(attended, mlp_norm, axes=[-1], epsilon=1e-5)
        gated = R.multiply(R.nn.silu(R.matmul(y, gate_weight)), R.matmul(y, up_weight))
        return R.add(attended, R.matmul(gated, down_weight))

    # Scores of the next token behind each token of the prompt; the caches hold n rows afterwards.
    @R.function(pure=False)
    def prefill(
        prompt: R.Tensor(("n",), "int64"),
        keys0: R.Tensor(("m", 64), "float32"),
        values0: R.Tensor(("m", 64), "float32"),
        keys1: R.Tensor(("m", 64), "float32"),
        values1: R.Tensor(("m", 64), "float32"),
        embedding: R.Tensor((13, 64), "float32"),
        layer0_attention_norm: R.Tensor((64,), "float32"),
        layer0_wq: R.Tensor((64, 64), "float32"),
        layer0_wk: R.Tensor((64, 64), "float32"),
        layer0_wv: R.Tensor((64, 64), "float32"),
        layer0_wo: R.Tensor((64, 64), "float32"),
        layer0_mlp_norm: R.Tensor((64,), "float32"),
        layer0_w_gate: R.Tensor((192, 64), "float32"),
        layer0_w_up: R.Tensor((192, 64), "float32"),
        layer0_w_down: R.Tensor((64, 192), "float32"),
        layer1_attention_norm: R.Tensor((64,), "float32"),
        layer1_wq: R.Tensor((64, 64), "float32"),
        layer1_wk: R.Tensor((64, 64), "float32"),
        layer1_wv: R.Tensor((64, 64), "float32"),
        layer1_wo: R.Tensor((64, 64), "float32"),
        layer1_mlp_norm: R.Tensor((64,), "float32"),
        layer1_w_gate: R.Tensor((192, 64), "float32"),
        layer1_w_up: R.Tensor((192, 64), "float32"),
        layer1_w_down: R.Tensor((64, 192), "float32"),
        final_norm: R.Tensor((64,), "float32"),
        output: R.Tensor((13, 64), "float32"),
    ) -> R.Tensor(("n", 13), "float32"):
        n = T.int64()
        cls = Adder
        embedded = R.take(embedding, prompt, axis=0)
        turns = R.call_tir(
            cls.angles,
            R.tuple(),
            out_sinfo=[R.Tensor((n, 8), "float32"), R.Tensor((n, 8), "float32")],
            tir_vars=R.shape([0]),
        )
        hidden0 = cls.layer(
            embedded,
            turns[0],
            turns[1],
            keys0,
            values0,
            R.shape([0]),
            layer0_attention_norm,
            R.permute_dims(layer0_wq),
            R.permute_dims(layer0_wk),
            R.permute_dims(layer0_wv),
            R.permute_dims(layer0_wo),
            layer0_mlp_norm,
            R.permute_dims(layer0_w_gate),
            R.permute_dims(layer0_w_up),
            R.permute_dims(layer0_w_down),
        )
        hidden1 = cls.layer(
            hidden0,
            turns[0],
            turns[1],
            keys1,
            values1,
            R.shape([0]),
            layer1_attention_norm,
            R.permute_dims(layer1_wq),
            R.permute_dims(layer1_wk),
            R.permute_dims(layer1_wv),
            R.permute_dims(layer1_wo),
            layer1_mlp_norm,
            R.permute_dims(layer1_w_gate),
            R.permute_dims(layer1_w_up),
            R.permute_dims(layer1_w_down),
        )
        last = R.nn.rms_norm(hidden1, final_norm, axes=[-1], epsilon=1e-5)
        return R.matmul(last, R.permute_dims(output))

    # Scores of the token behind `token`, which is number `length`; the caches hold one row more afterwards.
    @R.function(pure=False)
    def decode(
        token: R.Tensor((1,), "int64"),
        past: R.Shape(["length"]),
        keys0: R.Tensor(("m", 64), "float32"),
        values0: R.Tensor(("m", 64), "float32"),
        keys1: R.Tensor(("m", 64), "float32"),
        values1: R.Tensor(("m", 64), "float32"),
        embedding: R.Tensor((13, 64), "float32"),
        layer0_attention_norm: R.Tensor((64,), "float32"),
        layer0_wq: R.Tensor((64, 64), "float32"),
        layer0_wk: R.Tensor((64, 64), "float32"),
        layer0_wv: R.Tensor((64, 64), "float32"),
        layer0_wo: R.Tensor((64, 64), "float32"),
        layer0_mlp_norm: R.Tensor((64,), "float32"),
        layer0_w_gate: R.Tensor((192, 64), "float32"),
        layer0_w_up: R.Tensor((192, 64), "float32"),
        layer0_w_down: R.Tensor((64, 192), "float32"),
        layer1_attention_norm: R.Tensor((64,), "float32"),
        layer1_wq: R.Tensor((64, 64), "float32"),
        layer1_wk: R.Tensor((64, 64), "float32"),
        layer1_wv: R.Tensor((64, 64), "float32"),
        layer1_wo: R.Tensor((64, 64), "float32"),
        layer1_mlp_norm: R.Tensor((64,), "float32"),
        layer1_w_gate: R.Tensor((192, 64), "float32"),
        layer1_w_up: R.Tensor((192, 64), "float32"),
        layer1_w_down: R.Tensor((64, 192), "float32"),
        final_norm: R.Tensor((64,), "float32"),
        output: R.Tensor((13, 64), "float32"),
    ) -> R.Tensor((1, 13), "float32"):
        length = T.int64()
        cls = Adder
        embedded = R.take(embedding, token, axis=0)
        turns = R.call_tir(
            cls.angles,
            R.tuple(),
            out_sinfo=[R.Tensor((1, 8), "float32"), R.Tensor((1, 8), "float32")],
            tir_vars=R.shape([length]),
        )
        hidden0 = cls.layer(
            embedded,
            turns[0],
            turns[1],
            keys0,
            values0,
            R.shape([length]),
            layer0_attention_norm,
            R.permute_dims(layer0_wq),
            R.permute_dims(layer0_wk),
            R.permute_dims(layer0_wv),
            R.permute_dims(layer0_wo),
            layer0_mlp_norm,
            R.permute_dims(layer0_w_gate),
            R.permute_dims(layer0_w_up),
            R.permute_dims(layer0_w_down),
        )
        hidden1 = cls.layer(
            hidden0,
            turns[0],
            turns[1],
            keys1,
            values1,
            R.shape([length]),
            layer1_attention_norm,
            R.permute_dims(layer1_wq),
            R.permute_dims(layer1_wk),
            R.permute_dims(layer1_wv),
            R.permute_dims(layer1_wo),
            layer1_mlp_norm,
            R.permute_dims(layer1_w_gate),
            R.permute_dims(layer1_w_up),
            R.permute_dims(layer1_w_down),
        )
        last = R.nn.rms_norm(hidden1, final_norm, axes=[-1], epsilon=1e-5)
        return R.matmul(last, R.permute_dims(output))
