/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "schedule/build.h"

tw_tree *tw_tree_new(const tw_model *model, const tw_facts *facts, tw_arena *arena)
{
    tw_tree *tree = TW_NEW(arena, tw_tree);
    if (tree) *tree = (tw_tree){.model = model, .facts = facts, .arena = arena};
    return tree;
}

uint32_t tw_tree_add(tw_tree *tree, tw_node node)
{
    if (!TW_ARENA_GROW(tree->arena, tree->nodes, tree->node_count, tree->node_capacity)) return TW_NONE;
    tree->nodes[tree->node_count] = node;
    return tree->node_count++;
}

bool tw_tree_append(tw_tree *tree, uint32_t parent, uint32_t child)
{
    if (child == TW_NONE) return false;
    if (parent == TW_NONE) {
        if (!TW_ARENA_GROW(tree->arena, tree->roots, tree->root_count, tree->root_capacity)) return false;
        tree->roots[tree->root_count++] = child;
        return true;
    }
    tw_node *p = &tree->nodes[parent];
    if (!TW_ARENA_GROW(tree->arena, p->children, p->child_count, p->child_capacity)) return false;
    p->children[p->child_count++] = child;
    return true;
}

/* A loop without a trip is no node; nor is what lies in it. */
static bool add_items(tw_tree *tree, uint32_t parent, const tw_item *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const tw_item *item = &items[i];
        if (item->kind == TW_ITEM_LOOP) {
            if (tree->facts->dead[item->index]) continue;
            const tw_model_loop *loop = &tree->model->loops[item->index];
            uint32_t node = tw_tree_add(tree, (tw_node){.kind = TW_NODE_LOOP, .lanes = 1, .vectors = 1, .rows = 1,
                                                        .loop = item->index});
            if (!tw_tree_append(tree, parent, node) || !add_items(tree, node, loop->items, loop->item_count)) return false;
            continue;
        }
        uint8_t kind = item->kind == TW_ITEM_READ ? TW_NODE_READ : TW_NODE_STORE;
        uint32_t node = tw_tree_add(tree, (tw_node){.kind = kind, .access = item->index, .value = item->value,
                                                    .guard = item->guard, .lanes = 1, .vectors = 1, .rows = 1});
        if (!tw_tree_append(tree, parent, node)) return false;
    }
    return true;
}

tw_status tw_schedule_plain(const tw_model *model, const tw_facts *facts, tw_arena *arena, tw_tree **out, tw_error *error)
{
    tw_tree *tree = tw_tree_new(model, facts, arena);
    TW_TRY_ALLOC(tree, error);
    const tw_item root = {.kind = TW_ITEM_LOOP, .index = 0};
    bool done = model->loop_count ? add_items(tree, TW_NONE, &root, 1)
                                  : add_items(tree, TW_NONE, model->items, model->item_count);
    if (!done) return tw_fail_memory(error);
    *out = tree;
    return TW_OK;
}

/* ---- print ---- */

static void print_loop_head(const tw_tree *tree, const tw_node *node, tw_bytes *out)
{
    tw_bytes_printf(out, "%s n%u", tree->model->loops[node->loop].is_if ? "if" : "loop", node->loop);
    if (node->diagonals) tw_bytes_printf(out, " diagonals of %u x %u", tree->pair.rows, tree->pair.width);
    if (node->tiles) tw_bytes_append_string(out, " tiles");
    if (node->fronts) tw_bytes_printf(out, " + %u n%u fronts", tree->pair.skew, tree->pair.outer);
    if (node->in_front) tw_bytes_append_string(out, " in-front");
    if (node->in_block) tw_bytes_append_string(out, " in-block");
    if (node->block) tw_bytes_printf(out, " blocks %u", node->block);
    if (node->threads) tw_bytes_append_string(out, " threads");
    if (node->lanes > 1) tw_bytes_printf(out, " lanes %u", node->lanes);
    if (node->vectors > 1) tw_bytes_printf(out, " vectors %u", node->vectors);
    if (node->rows > 1) tw_bytes_printf(out, " rows %u", node->rows);
}

static void print_node(const tw_tree *tree, uint32_t index, uint32_t indent, tw_bytes *out)
{
    const tw_node *node = &tree->nodes[index];
    tw_bytes_printf(out, "%*s", (int)indent, "");
    if (node->kind == TW_NODE_LOOP) {
        print_loop_head(tree, node, out);
        tw_bytes_append_string(out, " {\n");
        for (uint32_t i = 0; i < node->child_count; i++) print_node(tree, node->children[i], indent + 2, out);
        tw_bytes_printf(out, "%*s}\n", (int)indent, "");
        return;
    }
    if (node->kind == TW_NODE_READ) tw_bytes_printf(out, "read v%u x%u", node->value, node->access);
    else tw_bytes_printf(out, "store x%u v%u", node->access, node->value);
    if (node->guard != TW_NONE) tw_bytes_printf(out, " if v%u", node->guard);
    tw_bytes_append_byte(out, '\n');
}

void tw_tree_print(const tw_tree *tree, tw_bytes *out)
{
    for (uint32_t i = 0; i < tree->root_count; i++) print_node(tree, tree->roots[i], 0, out);
}

static void add_part(tw_bytes *out, const char *what, uint32_t loop, uint32_t count)
{
    tw_bytes part = {0};
    tw_bytes_printf(&part, count > 1 ? "%s n%u (x%u)" : "%s n%u", what, loop, count);
    if (part.data && !(out->data && strstr(out->data, part.data))) /* the same loop may be in several places */
        tw_bytes_printf(out, "%s%s", out->size ? ", " : "", part.data);
    tw_bytes_free(&part);
}

static void add_fronts(const tw_tree *tree, tw_bytes *out)
{
    tw_bytes_printf(out, "%swavefronts n%u + %u n%u", out->size ? ", " : "", tree->pair.inner, tree->pair.skew, tree->pair.outer);
}

/* The loops that aren't simply sequential. */
static void summarise(const tw_tree *tree, uint32_t index, tw_bytes *out)
{
    const tw_node *node = &tree->nodes[index];
    if (node->kind != TW_NODE_LOOP) return;
    if (node->fronts) add_fronts(tree, out);
    if (node->threads) add_part(out, "threads", node->loop, 1);
    if (node->rows > 1) add_part(out, "rows", node->loop, node->rows);
    if (node->lanes > 1) add_part(out, "lanes", node->loop, node->lanes * node->vectors);
    if (node->block && !node->tiles) add_part(out, "blocks", node->loop, node->block);
    for (uint32_t i = 0; i < node->child_count; i++) summarise(tree, node->children[i], out);
}

void tw_tree_summary(const tw_tree *tree, char *out, size_t size)
{
    tw_bytes text = {0};
    for (uint32_t i = 0; i < tree->root_count; i++) summarise(tree, tree->roots[i], &text);
    snprintf(out, size, "%s", text.size ? text.data : "sequential");
    tw_bytes_free(&text);
}
