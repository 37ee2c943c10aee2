/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that knows isl. It is asked for a permutable schedule of a pair of loops: two functions of their counters that no
 * dependence makes smaller. Their sum then grows along every dependence that moves either of them, so it counts
 * wavefronts; it is i·k + j, and k is the answer.
 *
 * isl is given the loops' rectangle with symbolic sizes and a relation of "at least so far on" for each distance. It gets at
 * most so many operations, which isn't a bound on time: that is the worker's wall clock. Nothing rests on its answer being
 * right: the smallest skew not above it that every distance agrees with is taken, and with none there is a refusal. */

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <stdio.h>

#include "base/bytes.h"
#include "schedule/scheduler.h"

enum { MOST_OPERATIONS = 1000 * 1000, MOST_SKEW = 64 };

#define INSIDE(i, j) "0 <= " i " < N and 0 <= " j " < M"

static isl_union_map *read_dependences(isl_ctx *ctx, const tw_distance *distances, uint32_t count)
{
    tw_bytes text = {0};
    tw_bytes_append_string(&text, "[N, M] -> { ");
    for (uint32_t d = 0; d < count; d++)
        tw_bytes_printf(&text, "%sS[i, j] -> S[p, q] : p >= i + %d and q >= j + %d and " INSIDE("i", "j") " and " INSIDE("p", "q"),
                        d ? "; " : "", distances[d].outer, distances[d].inner);
    tw_bytes_append(&text, " }", 3);
    isl_union_map *map = text.failed ? NULL : isl_union_map_read_from_str(ctx, (const char *)text.data);
    tw_bytes_free(&text);
    return map;
}

static isl_schedule *compute(isl_ctx *ctx, const tw_distance *distances, uint32_t count)
{
    isl_union_set *domain = isl_union_set_read_from_str(ctx, "[N, M] -> { S[i, j] : " INSIDE("i", "j") " }");
    isl_union_map *dependences = read_dependences(ctx, distances, count);
    isl_schedule_constraints *constraints = isl_schedule_constraints_on_domain(domain);
    constraints = isl_schedule_constraints_set_validity(constraints, isl_union_map_copy(dependences));
    constraints = isl_schedule_constraints_set_proximity(constraints, dependences);
    return isl_schedule_constraints_compute_schedule(constraints);
}

/* The coefficient of counter `at` in member `member` of the band, added to *sum. False when it isn't a small whole number. */
static bool add_coefficient(isl_multi_union_pw_aff *band, int member, int at, int64_t *sum)
{
    isl_union_pw_aff *part = isl_multi_union_pw_aff_get_union_pw_aff(band, member);
    isl_pw_aff_list *pieces = isl_union_pw_aff_get_pw_aff_list(part);
    isl_pw_aff *piece = isl_pw_aff_list_n_pw_aff(pieces) == 1 ? isl_pw_aff_list_get_pw_aff(pieces, 0) : NULL;
    isl_aff *aff = piece && isl_pw_aff_isa_aff(piece) == isl_bool_true ? isl_pw_aff_as_aff(isl_pw_aff_copy(piece)) : NULL;
    isl_val *value = aff ? isl_aff_get_coefficient_val(aff, isl_dim_in, at) : NULL;
    bool good = value && isl_val_is_int(value) == isl_bool_true && isl_val_cmp_si(value, -MOST_SKEW) >= 0 && isl_val_cmp_si(value, MOST_SKEW) <= 0;
    if (good) *sum += isl_val_get_num_si(value);
    isl_val_free(value);
    isl_aff_free(aff);
    isl_pw_aff_free(piece);
    isl_pw_aff_list_free(pieces);
    isl_union_pw_aff_free(part);
    return good;
}

/* The sum of the two members of a permutable band at the schedule's top: outer·i + inner·j. */
static bool sum_of_band(isl_schedule_node *node, int64_t *outer, int64_t *inner)
{
    if (!node || isl_schedule_node_get_type(node) != isl_schedule_node_band || isl_schedule_node_band_n_member(node) != 2 ||
        isl_schedule_node_band_get_permutable(node) != isl_bool_true)
        return false;
    isl_multi_union_pw_aff *band = isl_schedule_node_band_get_partial_schedule(node);
    bool good = band != NULL;
    *outer = *inner = 0;
    for (int member = 0; member < 2 && good; member++)
        good = add_coefficient(band, member, 0, outer) && add_coefficient(band, member, 1, inner);
    isl_multi_union_pw_aff_free(band);
    return good;
}

static bool agrees(const tw_distance *distances, uint32_t count, int64_t skew)
{
    for (uint32_t d = 0; d < count; d++)
        if (skew * distances[d].outer + distances[d].inner < 1) return false;
    return true;
}

tw_status tw_find_skew(const tw_distance *distances, uint32_t count, uint32_t *skew, tw_error *error)
{
    int64_t outer = 0, inner = 0, least = 0;
    isl_ctx *ctx = isl_ctx_alloc();
    TW_TRY_ALLOC(ctx, error);
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, MOST_OPERATIONS);
    isl_schedule *schedule = compute(ctx, distances, count);
    isl_schedule_node *root = isl_schedule_get_root(schedule), *top = root ? isl_schedule_node_get_child(root, 0) : NULL;
    bool found = sum_of_band(top, &outer, &inner);
    isl_schedule_node_free(top);
    isl_schedule_node_free(root);
    isl_schedule_free(schedule);
    isl_ctx_free(ctx);
    while (found && least < outer && !agrees(distances, count, least)) least++;
    if (!found || inner != 1 || outer < 0 || !agrees(distances, count, least))
        return tw_fail(error, TW_REFUSED, "the dependences allow no wavefronts of a usable form");
    *skew = (uint32_t)least;
    return TW_OK;
}
