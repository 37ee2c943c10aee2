/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions may come to call themselves: the strongly connected components of the call graph (Tarjan's algorithm,
 * without recursion). An indirect call goes to a node of its type, and from there to every function of that type of which
 * a reference may exist: in an element segment or a global, by ref.func, or exported (the host may put it in a table). */
#include <string.h>

#include "rewrite/probes.h"

typedef struct edge {
    uint32_t to, next; /* next edge of the same node, plus 1 */
} edge;

typedef struct graph {
    const tw_wasm *module;
    tw_arena *arena;
    tw_error *error;
    uint32_t node_count;    /* functions, then types */
    uint32_t *first;        /* by node: its first edge, plus 1 */
    edge *edges;
    uint32_t edge_count, edge_capacity;
    uint32_t *canonical;    /* type → first equal type */
    bool *referenced;       /* by function */
    bool *in_cycle;         /* by node */
} graph;

static tw_status add_edge(graph *g, uint32_t from, uint32_t to)
{
    if (!TW_ARENA_GROW(g->arena, g->edges, g->edge_count, g->edge_capacity)) return tw_fail_memory(g->error);
    g->edges[g->edge_count++] = (edge){to, g->first[from]};
    g->first[from] = g->edge_count;
    return TW_OK;
}

static uint32_t type_node(const graph *g, uint32_t type)
{
    return g->module->func_count + g->canonical[type];
}

/* ---- types ---- */

static uint32_t hash_list(uint32_t hash, const uint8_t *types, uint32_t count)
{
    hash = (hash ^ count) * 16777619u;
    for (uint32_t i = 0; i < count; i++) hash = (hash ^ types[i]) * 16777619u;
    return hash;
}

static bool same(const tw_functype *a, const tw_functype *b)
{
    return a->param_count == b->param_count && a->result_count == b->result_count &&
           (!a->param_count || memcmp(a->params, b->params, a->param_count) == 0) &&
           (!a->result_count || memcmp(a->results, b->results, a->result_count) == 0);
}

/* A small table of types by hash, chained. Made to collide, it costs time quadratic in the types at worst. */
static tw_status find_canonical(graph *g)
{
    const tw_wasm *m = g->module;
    enum { BUCKETS = 4096 };
    uint32_t *heads = TW_NEW_ARRAY(g->arena, uint32_t, BUCKETS),
             *chain = TW_NEW_ARRAY(g->arena, uint32_t, m->type_count);
    g->canonical = TW_NEW_ARRAY(g->arena, uint32_t, m->type_count);
    if (!heads || !chain || !g->canonical) return tw_fail_memory(g->error);
    for (uint32_t i = 0; i < m->type_count; i++) {
        const tw_functype *type = &m->types[i];
        uint32_t *head = &heads[hash_list(hash_list(2166136261u, type->params, type->param_count), type->results,
                                          type->result_count) %
                                BUCKETS];
        uint32_t found = *head;
        while (found && !same(&m->types[found - 1], type)) found = chain[found - 1];
        g->canonical[i] = found ? found - 1 : i;
        if (found) continue;
        chain[i] = *head;
        *head = i + 1;
    }
    return TW_OK;
}

/* ---- references ---- */

static void refer(graph *g, uint32_t func)
{
    if (func < g->module->func_count) g->referenced[func] = true;
}

static tw_status refer_in(graph *g, tw_span code)
{
    tw_reader reader = {code.data, code.data, code.data + code.size, 0};
    tw_instr instr;
    while (reader.at != reader.end) {
        TW_TRY(tw_wasm_next(&reader, &instr, g->error));
        if (instr.op == TW_OP_REF_FUNC) refer(g, instr.imm.index);
    }
    return TW_OK;
}

static tw_status find_references(graph *g)
{
    const tw_wasm *m = g->module;
    for (uint32_t i = 0; i < m->elem_count; i++) {
        const tw_elem *elem = &m->elems[i];
        for (uint32_t j = 0; elem->funcs && j < elem->count; j++) refer(g, elem->funcs[j]);
        if (!elem->funcs) TW_TRY(refer_in(g, elem->payload));
    }
    for (uint32_t i = m->imported_globals; i < m->global_count; i++)
        if (m->globals[i].type.type == TW_FUNCREF) TW_TRY(refer_in(g, m->globals[i].init));
    for (uint32_t i = 0; i < m->export_count; i++)
        if (m->exports[i].kind == TW_EXTERN_FUNC) refer(g, m->exports[i].index);
    return TW_OK;
}

/* ---- edges ---- */

static tw_status add_calls(graph *g, uint32_t func)
{
    uint32_t count;
    tw_reader reader;
    tw_instr instr;
    TW_TRY(tw_wasm_code(g->module, func, &reader, &count, g->error));
    while (reader.at != reader.end) {
        TW_TRY(tw_wasm_next(&reader, &instr, g->error));
        if (instr.op == TW_OP_CALL || instr.op == TW_OP_RETURN_CALL) TW_TRY(add_edge(g, func, instr.imm.index));
        if (instr.op == TW_OP_CALL_INDIRECT || instr.op == TW_OP_RETURN_CALL_INDIRECT)
            TW_TRY(add_edge(g, func, type_node(g, instr.imm.call_indirect.type)));
        if (instr.op == TW_OP_REF_FUNC) refer(g, instr.imm.index);
    }
    return TW_OK;
}

static tw_status add_edges(graph *g)
{
    const tw_wasm *m = g->module;
    for (uint32_t i = m->imported_funcs; i < m->func_count; i++) TW_TRY(add_calls(g, i));
    TW_TRY(find_references(g));
    for (uint32_t i = m->imported_funcs; i < m->func_count; i++)
        if (g->referenced[i]) TW_TRY(add_edge(g, type_node(g, m->funcs[i].type), i));
    return TW_OK;
}

/* ---- components ---- */

typedef struct tarjan {
    graph *g;
    uint32_t *index, *low, *stack, *path, *edge_at; /* index: 0 = not visited */
    bool *on_stack;
    uint32_t stack_size, path_size, visited;
} tarjan;

static void visit(tarjan *t, uint32_t node)
{
    t->index[node] = t->low[node] = ++t->visited;
    t->stack[t->stack_size++] = node;
    t->on_stack[node] = true;
    t->edge_at[node] = t->g->first[node];
    t->path[t->path_size++] = node;
}

/* All of the component are in a cycle when it has more than one node; one alone is when it has an edge to itself. */
static void close_component(tarjan *t, uint32_t root)
{
    bool alone = t->stack[t->stack_size - 1] == root;
    for (uint32_t node;;) {
        node = t->stack[--t->stack_size];
        t->on_stack[node] = false;
        if (!alone) t->g->in_cycle[node] = true;
        if (node == root) return;
    }
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* One step of the node at the path's end: its next edge, or its end. */
static void advance(tarjan *t)
{
    uint32_t node = t->path[t->path_size - 1];
    if (t->edge_at[node]) {
        const edge *e = &t->g->edges[t->edge_at[node] - 1];
        t->edge_at[node] = e->next;
        if (e->to == node) t->g->in_cycle[node] = true;
        if (!t->index[e->to]) visit(t, e->to);
        else if (t->on_stack[e->to]) t->low[node] = smaller(t->low[node], t->index[e->to]);
        return;
    }
    t->path_size--;
    if (t->path_size) {
        uint32_t parent = t->path[t->path_size - 1];
        t->low[parent] = smaller(t->low[parent], t->low[node]);
    }
    if (t->low[node] == t->index[node]) close_component(t, node);
}

static tw_status find_components(graph *g)
{
    size_t n = g->node_count;
    tarjan t = {.g = g};
    t.index = TW_NEW_ARRAY(g->arena, uint32_t, n);
    t.low = TW_NEW_ARRAY(g->arena, uint32_t, n);
    t.stack = TW_NEW_ARRAY(g->arena, uint32_t, n);
    t.path = TW_NEW_ARRAY(g->arena, uint32_t, n);
    t.edge_at = TW_NEW_ARRAY(g->arena, uint32_t, n);
    t.on_stack = TW_NEW_ARRAY(g->arena, bool, n);
    if (!t.index || !t.low || !t.stack || !t.path || !t.edge_at || !t.on_stack) return tw_fail_memory(g->error);
    for (uint32_t node = 0; node < g->node_count; node++) {
        if (t.index[node]) continue;
        visit(&t, node);
        while (t.path_size) advance(&t);
    }
    return TW_OK;
}

tw_status tw_call_cycles(const tw_wasm *module, tw_arena *arena, bool **in_cycle, tw_error *error)
{
    graph g = {.module = module, .arena = arena, .error = error, .node_count = module->func_count + module->type_count};
    g.first = TW_NEW_ARRAY(arena, uint32_t, g.node_count);
    g.referenced = TW_NEW_ARRAY(arena, bool, module->func_count);
    g.in_cycle = TW_NEW_ARRAY(arena, bool, g.node_count);
    if (!g.first || !g.referenced || !g.in_cycle) return tw_fail_memory(error);
    TW_TRY(find_canonical(&g));
    TW_TRY(add_edges(&g));
    TW_TRY(find_components(&g));
    *in_cycle = g.in_cycle;
    return TW_OK;
}
