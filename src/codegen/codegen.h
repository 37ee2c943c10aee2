/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CODEGEN_CODEGEN_H
#define TW_CODEGEN_CODEGEN_H

/* A tree becomes machine code for this host. In the compile worker only.
 *
 *   tree ──► emit: one LLVM function with its range check ──► optimise ──► ELF object ──► flatten: one block of code and
 *            constants without relocations, callable at base/kernel_abi.h's terms
 *
 * Exactness: no fast-math flag, no contraction, no reassociation is ever set; what LLVM may do without flags keeps bits, but
 * for the payload of NaNs that arithmetic makes. A kernel that needs a library function, a relocation against anything
 * outside itself, or a fused operation is a failure. */

#include "base/bytes.h"
#include "base/error.h"
#include "base/kernel_abi.h"
#include "schedule/tree.h"

typedef struct tw_codegen tw_codegen;

/* Finds out what the host is. One thread at a time. */
tw_status tw_codegen_new(tw_codegen **out, tw_error *error);
void tw_codegen_free(tw_codegen *codegen);

/* "abi 3, llvm 19.1.7 lsr by kernel, znver3, +avx2,…"; lives as long as the codegen. */
const char *tw_codegen_identity(const tw_codegen *codegen);
const tw_target *tw_codegen_target(const tw_codegen *codegen);

/* level: 0 = unoptimised (an oracle for tests) … 3. On success `code` holds info->code_size bytes. */
tw_status tw_codegen_compile(tw_codegen *codegen, const tw_tree *tree, unsigned level, tw_kernel_info *info,
                             tw_bytes *code, tw_error *error);

/* what: "llvm" or "asm". Appends text. */
tw_status tw_codegen_dump(tw_codegen *codegen, const tw_tree *tree, unsigned level, const char *what, tw_bytes *out,
                          tw_error *error);

#endif
