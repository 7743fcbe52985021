// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An addon of Node's that runs Python in its process: what JavaScript calls in it, and what Python calls in it. Declared by hand, as
 * Node's headers are nowhere by default: https://nodejs.org/api/n-api.html.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct napi_env_opaque *napi_env;
typedef struct napi_value_opaque *napi_value;
typedef struct napi_info_opaque *napi_info;
typedef napi_value (*napi_callback)(napi_env env, napi_info info);

int napi_create_function(napi_env env, const char *name, size_t length, napi_callback callback,
			 void *data, napi_value *result);
int napi_set_named_property(napi_env env, napi_value object, const char *name, napi_value value);
int napi_get_cb_info(napi_env env, napi_info info, size_t *count, napi_value *arguments,
		     napi_value *self, void **data);
int napi_get_value_string_utf8(napi_env env, napi_value value, char *to, size_t size,
			       size_t *length);
int napi_get_value_uint32(napi_env env, napi_value value, uint32_t *result);
int napi_create_uint32(napi_env env, uint32_t value, napi_value *result);
int napi_call_function(napi_env env, napi_value self, napi_value function, size_t count,
		       const napi_value *arguments, napi_value *result);

#define PUBLIC	   __attribute__((visibility("default")))
#define NAMES_MAX  4096
#define TO_ITS_END SIZE_MAX /* NAPI_AUTO_LENGTH */

static napi_env running;
static napi_value self, called;

/* For Python: JavaScript's function. */
PUBLIC void call_javascript(uint32_t size)
{
	napi_value argument, result;

	if (!napi_create_uint32(running, size, &argument))
		napi_call_function(running, self, called, 1, &argument, &result);
}

/* keep(SIZE): a block more. */
static napi_value keep(napi_env env, napi_info info)
{
	napi_value argument;
	uint32_t size = 0;
	size_t count = 1;

	if (!napi_get_cb_info(env, info, &count, &argument, NULL, NULL) &&
	    !napi_get_value_uint32(env, argument, &size))
		*(void *volatile *)&(void *){NULL} = malloc(size);
	return NULL;
}

/* python(LIBRARY, SCRIPT, FUNCTION): what may be called by call_javascript(). */
static napi_value python(napi_env env, napi_info info)
{
	char library[NAMES_MAX], script[NAMES_MAX];
	napi_value arguments[3];
	int (*run)(const char *);
	void (*begin)(int);
	size_t count = 3;
	void *handle;

	if (napi_get_cb_info(env, info, &count, arguments, &self, NULL) ||
	    napi_get_value_string_utf8(env, arguments[0], library, sizeof(library), &count) ||
	    napi_get_value_string_utf8(env, arguments[1], script, sizeof(script), &count))
		abort();
	running = env;
	called = arguments[2];
	/* Its modules look for what it exports. */
	handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	if (!handle)
		abort();
	*(void **)&begin = dlsym(handle, "Py_InitializeEx");
	*(void **)&run = dlsym(handle, "PyRun_SimpleString");
	begin(0);
	if (run(script))
		abort();
	return NULL;
}

PUBLIC napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	static const struct {
		const char *name;
		napi_callback callback;
	} functions[] = {{"keep", keep}, {"python", python}};
	napi_value function;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (napi_create_function(env, functions[i].name, TO_ITS_END, functions[i].callback,
					 NULL, &function) ||
		    napi_set_named_property(env, exports, functions[i].name, function))
			abort();
	}
	return exports;
}
