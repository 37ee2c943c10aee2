/* SPDX-License-Identifier: Apache-2.0 */
#define SIZES N = 37, M = 41, K = 35, T = 3, W = 61, H = 45, L = 13, U = 241
#include "constant.c"
