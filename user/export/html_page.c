// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/html.h"

/* Made at build time by tools/html-page from user/export/html. */
#include "html_page.gen.h"

#ifdef HTML_PAGE_MISSING
const char *const html_page_before = "", *const html_page_after = "";
const char *const html_page_why_not = HTML_PAGE_MISSING;
#else
const char *const html_page_before = html_page_head, *const html_page_after = html_page_tail;
const char *const html_page_why_not = NULL;
#endif
