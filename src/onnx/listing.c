/*- listing.c: the text that places of an imported module are in: the model's nodes, one a line.
 *
 *     graph main
 *     0 Conv 'conv1' (x, w) -> y
 *     1 Relu (y) -> z
 *
 * Line 1 is the graph, so node n is found at line n + 2. */
#include "onnx/onnx_int.h"

enum { MOST_SHOWN = 8, LONGEST_NAME = 60, MOST_BYTES = 64 << 20 };

typedef struct listing { rlx_importer *m; rlx_buf text; } listing;

/* Names are bytes of a file; what is no plain text becomes '?'. */
static void put_name(rlx_buf *b, rlx_slice s)
{
    size_t from = b->len;
    rlx_buf_put(b, s.data, s.len < LONGEST_NAME ? s.len : LONGEST_NAME);
    if (b->failed)
        return;
    for (size_t i = from; i < b->len; i++)
        if ((unsigned char)b->data[i] < 0x20 || b->data[i] == 0x7f)
            b->data[i] = '?';
    rlx_utf8_mend(b->data + from, b->len - from);
}

static void put_names(rlx_buf *b, const rlx_wire_strings *s)
{
    for (size_t i = 0; i < s->len && i < MOST_SHOWN; i++) {
        rlx_buf_z(b, i ? ", " : "");
        put_name(b, s->data[i]);
    }
    rlx_buf_z(b, s->len > MOST_SHOWN ? ", ..." : "");
}

static void put_indent(rlx_buf *b, unsigned depth)
{
    for (unsigned i = 0; i < depth && i < 16; i++)
        rlx_buf_lit(b, "  ");
}

static void list_nodes(listing *l, const rlx_wire_list *nodes, unsigned depth);

static void list_graph(listing *l, const char *what, rlx_slice name, const rlx_wire_list *nodes,
                       unsigned depth)
{
    put_indent(&l->text, depth);
    rlx_buf_z(&l->text, what);
    rlx_buf_char(&l->text, ' ');
    put_name(&l->text, name);
    rlx_buf_char(&l->text, '\n');
    list_nodes(l, nodes, depth + 1);
}

static void list_node(listing *l, rlx_onnx_node *n, size_t number, unsigned depth)
{
    rlx_buf *b = &l->text;
    put_indent(b, depth);
    n->line_begin = (uint32_t)b->len;
    rlx_buf_u64(b, number);
    rlx_buf_char(b, ' ');
    put_name(b, n->domain);
    rlx_buf_z(b, n->domain.len ? "." : "");
    put_name(b, n->op);
    if (n->name.len) {
        rlx_buf_lit(b, " '");
        put_name(b, n->name);
        rlx_buf_char(b, '\'');
    }
    rlx_buf_lit(b, " (");
    put_names(b, &n->inputs);
    rlx_buf_lit(b, ") -> ");
    put_names(b, &n->outputs);
    n->line_len = (uint32_t)(b->len - n->line_begin);
    rlx_buf_char(b, '\n');
    for (size_t i = 0; i < n->attributes.len; i++) {
        const rlx_onnx_attribute *a = RLX_ONNX_ITEM(rlx_onnx_attribute, n->attributes, i);
        if (a->g)
            list_graph(l, "graph", a->name, &a->g->nodes, depth + 1);
        for (size_t k = 0; k < a->graphs.len; k++) {
            const rlx_onnx_graph *g = RLX_ONNX_ITEM(rlx_onnx_graph, a->graphs, k);
            list_graph(l, "graph", a->name, &g->nodes, depth + 1);
        }
    }
}

static void list_nodes(listing *l, const rlx_wire_list *nodes, unsigned depth)
{
    rlx_onnx_node *n = nodes->data;
    for (size_t i = 0; i < nodes->len; i++) {
        if (l->text.failed || l->text.len > MOST_BYTES)
            return;
        list_node(l, &n[i], i, depth);
    }
}

bool rlx_onnx_list_nodes(rlx_importer *m)
{
    listing l = { .m = m };
    rlx_buf_init(&l.text, &m->ctx->memory);
    list_graph(&l, "graph", m->model->graph->name, &m->model->graph->nodes, 0);
    for (size_t i = 0; i < m->model->functions.len; i++) {
        const rlx_onnx_function *f = RLX_ONNX_ITEM(rlx_onnx_function, m->model->functions, i);
        list_graph(&l, "function", f->name, &f->nodes, 0);
    }
    if (!l.text.failed)
        m->source = rlx_diags_add_read_source(&m->ctx->diags, m->options->name, l.text.data,
                                              l.text.len);
    rlx_buf_free(&l.text);
    return m->source != 0;
}
