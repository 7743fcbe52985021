// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sources: V8's src/objects/{code,bytecode-array,deoptimization-data}.h and .tq and
 * src/deoptimizer/translation-opcode.h of these versions. All was compared with the memory of Node
 * of that version, and with its --print-opt-code.
 */
#include "user/runtime/v8/v8_versions.h"

#include "user/base/util.h"

#define BYTE_ARRAY	   "type_ByteArray__BYTE_ARRAY_TYPE"
#define TRUSTED_BYTE_ARRAY "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"
#define FIXED_ARRAY	   "type_FixedArray__FIXED_ARRAY_TYPE"
#define WEAK_FIXED_ARRAY   "type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE"

/* Node 24 to 26 */
#define V8_ROW_24                                                                        \
	{                                                                                \
		.shared_data = 8, .bytecodes_first = 64, .bytecodes_positions = 24,      \
		.code_bytecodes = 8, .code_start = 40, .code_size = 56, .code_kind = 52, \
		.code_deopt = 8, .stream_code = 24, .deopt_literals = 3, .deopt_id = 6,  \
		.deopt_places = 12                                                       \
	}
#define V8_TYPES_24                                                                         \
	{                                                                                   \
		[V8_BYTES] = TRUSTED_BYTE_ARRAY,                                            \
		[V8_DEOPT] = "type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE",        \
		[V8_TRANSLATIONS] = TRUSTED_BYTE_ARRAY,                                     \
		[V8_LITERALS] = "type_TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE" \
	}
#define V8_FORM_24                                                                               \
	{                                                                                        \
		.operands = "643321343331003311101111111111111111101111121", .begins = {14, 15}, \
		.frames = {0, 1}, .builtins = {2, 3}, .repeats = 44                              \
	}

static const struct v8_version v8_versions[] = {
	/* Node 18; a Code has its instructions itself. */
	{.major = 10,
	 .minor = 2,
	 .row = {.shared_data = 8,
		 .bytecodes_first = 56,
		 .bytecodes_positions = 32,
		 .code_bytecodes = 16,
		 .code_own = 128,
		 .code_size = 40,
		 .code_kind = 48,
		 .code_deopt = 16,
		 .deopt_literals = 2,
		 .deopt_id = 5,
		 .deopt_places = 11},
	 .types = {[V8_BYTES] = BYTE_ARRAY,
		   [V8_DEOPT] = FIXED_ARRAY,
		   [V8_TRANSLATIONS] = BYTE_ARRAY,
		   [V8_LITERALS] = WEAK_FIXED_ARRAY},
	 .form = {.operands = "2103113131111111115334111112",
		  .begins = {3, 3},
		  .frames = {18, 18},
		  .builtins = {19, 20},
		  .doubled = true}},
	/* Node 20 */
	{.major = 11,
	 .minor = 3,
	 .row = {.shared_data = 8,
		 .bytecodes_first = 54,
		 .bytecodes_positions = 32,
		 .code_bytecodes = 16,
		 .code_start = 40,
		 .code_size = 56,
		 .code_kind = 48,
		 .code_deopt = 16,
		 .stream_code = 8,
		 .deopt_literals = 2,
		 .deopt_id = 5,
		 .deopt_places = 11},
	 .types = {[V8_BYTES] = BYTE_ARRAY,
		   [V8_DEOPT] = FIXED_ARRAY,
		   [V8_TRANSLATIONS] = BYTE_ARRAY,
		   [V8_LITERALS] = WEAK_FIXED_ARRAY},
	 .form = {.operands = "103311313111112111111115333401111121",
		  .begins = {2, 3},
		  .frames = {23, 24},
		  .builtins = {25, 26},
		  .repeats = 35}},
	/* Node 22 */
	{.major = 12,
	 .minor = 4,
	 .row = {.shared_data = 8,
		 .bytecodes_first = 64,
		 .bytecodes_positions = 24,
		 .code_bytecodes = 8,
		 .code_start = 40,
		 .code_size = 52,
		 .code_kind = 48,
		 .code_deopt = 8,
		 .stream_code = 24,
		 .deopt_literals = 2,
		 .deopt_id = 5,
		 .deopt_places = 11},
	 .types = {[V8_BYTES] = TRUSTED_BYTE_ARRAY,
		   [V8_DEOPT] = "type_TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE",
		   [V8_TRANSLATIONS] = BYTE_ARRAY,
		   [V8_LITERALS] = WEAK_FIXED_ARRAY},
	 .form = {.operands = "5333213432103311111111111111111101111121",
		  .begins = {12, 13},
		  .frames = {0, 1},
		  .builtins = {2, 3},
		  .repeats = 39}},
	/* Node 24 */
	{.major = 13,
	 .minor = 6,
	 .row = V8_ROW_24,
	 .types = V8_TYPES_24,
	 .form = V8_FORM_24,
	 .maglev = true,
	 .opcodes = {"111112345562121111124442222322211123334242244424443443533444545333333333"
		     "333333333333333222211222245545653455564455333333333122211541241434233331"
		     "1142222222222422222222222244235211112112454412211111111111111111",
		     "111113579793131111137773333533311125557373377737774775955777878555555555"
		     "555555555555555333311333379979;95799796699555555555133311761361656355551"
		     "1173333333333733333333333377359311113113797713311111111111111111",
		     "1111159=A;?515111115===555595551112999=5=55===5===6==9A99===>=>999999999"
		     "9999999999999995555115555=AA=AEA9=AA;?::AA999999999155511;:15:1:9:599991"
		     "11=5555555555=555555555555==59A511115115=A==15511111111111111111"}},
	/* Node 25 */
	{.major = 14,
	 .minor = 1,
	 .row = V8_ROW_24,
	 .types = V8_TYPES_24,
	 .form = V8_FORM_24,
	 .maglev = true,
	 .flags = true,
	 .opcodes = {"111112345562121111124442222322211123334242244424443443533444545233333333"
		     "333343333333333332222112222455456534555644553333333331222115412414342333"
		     "33111422222222224222222222222442352411112112454412211111111111111111",
		     "111113579793131111137773333533311125557373377737774775955777878355555555"
		     "55556555555555555333311333379979;957997966995555555551333117613616563555"
		     "55111733333333337333333333333773593711113113797713311111111111111111",
		     "1111159=A;?515111115===555595551112999=5=55===5===6==9A99===>=>599999999"
		     "9999:9999999999995555115555=AA=AEA9=AA;?::AA999999999155511;:15:1:9:5999"
		     "99111=5555555555=555555555555==59A5=11115115=A==15511111111111111111"}},
	/* Node 26 */
	{.major = 14,
	 .minor = 6,
	 .row = V8_ROW_24,
	 .types = V8_TYPES_24,
	 .form = V8_FORM_24,
	 .maglev = true,
	 .flags = true,
	 .opcodes = {"111112345562121111124442222322211123334242244424443443533444545333333333"
		     "333343333333333332222112222455456534555644553444444331222115412414342333"
		     "33111422222222224222222222222442352511112112454412211111111111111111",
		     "111113579793131111137773333533311125557373377737774775955777878555555555"
		     "55556555555555555333311333379979;957997966995555555551333117613616563555"
		     "55111733333333337333333333333773593911113113797713211111111111111111",
		     "1111159=A;?515111115===555595551112999=5=55===5===6==9A99===>=>999999999"
		     "9999:9999999999995555115555=AA=AEA9=AA;?::AA977777799155511;:15:1:9:5999"
		     "99111=5555555555=555555555555==59A5A11115115=A==15211111111111111111"}},
};

const struct v8_version *v8_version_find(int32_t major, int32_t minor)
{
	for (size_t i = 0; i < ARRAY_SIZE(v8_versions); i++) {
		if (v8_versions[i].major == major && v8_versions[i].minor == minor)
			return &v8_versions[i];
	}
	return NULL;
}
