// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bugs with blocks of the heap, in C++ (heap_bugs.h): containers, strings, pointers that own, objects with virtual functions.
 */
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "heap_bugs.h"

static volatile long sink;

SITE static void new_array_beyond(bool wrong)
{
	volatile char *p = new char[64];

	p[wrong ? 64 : 63] = 'a';
	delete[] p;
}

SITE static void vector_beyond(bool wrong)
{
	std::vector<long> v(8, 1);
	size_t at = wrong ? 8 : 7;

	HIDE(at);
	v[at] = 7;
}

SITE static void vector_end(bool wrong)
{
	std::vector<long> v(8, 1);
	auto last = wrong ? v.end() : v.end() - 1;

	HIDE(last);
	sink = *last;
}

SITE static void vector_iterator(bool wrong)
{
	std::vector<long> v(8, 1);
	auto first = v.begin();

	HIDE(first);
	v.push_back(2);
	if (!wrong)
		first = v.begin();
	HIDE(first);
	sink = *first;
}

SITE static void vector_reference(bool wrong)
{
	std::vector<std::string> v(2, std::string(30, 'a'));
	std::string *first = &v[0];

	v.resize(20);
	if (!wrong)
		first = &v[0];
	HIDE(first);
	sink = static_cast<long>(first->size());
}

SITE static void list_erase(bool wrong)
{
	std::list<long> l = {1, 2, 3};

	for (auto i = l.begin(); i != l.end();) {
		if (*i != 2) {
			++i;
		} else if (wrong) {
			l.erase(i);
			HIDE(i);
			++i;
		} else {
			i = l.erase(i);
		}
	}
}

SITE static void map_erase(bool wrong)
{
	std::map<int, long> m = {{1, 1}, {2, 2}, {3, 3}};
	const long *two = &m[2];

	if (wrong)
		m.erase(2);
	HIDE(two);
	sink = *two;
}

SITE static void string_moved(bool wrong)
{
	std::string s(40, 'a');
	const char *text = s.c_str();

	s.append(400, 'b');
	if (!wrong)
		text = s.c_str();
	HIDE(text);
	heap_sink = *text;
}

static std::string word()
{
	return std::string(40, 'w');
}

/* Of a string that is gone at the end of the line. */
SITE static void view_of_gone(bool wrong)
{
	std::string kept = word();
	std::string_view view = kept;

	if (wrong)
		view = word();
	auto at = view.data();
	HIDE(at);
	heap_sink = at[5];
}

SITE static void unique_reset(bool wrong)
{
	auto owner = std::make_unique<long>(7);
	long *p = owner.get();

	if (wrong)
		owner.reset();
	HIDE(p);
	sink = *p;
}

SITE static void shared_reset(bool wrong)
{
	auto owner = std::make_shared<long>(7);
	auto other = wrong ? nullptr : owner;
	long *p = owner.get();

	owner.reset();
	HIDE(p);
	*p = 8;
}

SITE static void captured(bool wrong)
{
	auto owner = std::make_unique<long>(7);
	std::function<long()> get = [&value = *owner] { return value; };

	if (wrong)
		owner.reset();
	sink = get();
}

struct base {
	virtual ~base() = default;
	virtual long value() const
	{
		return 1;
	}
	long a = 1;
};

struct derived : base {
	long value() const override
	{
		return b;
	}
	long b = 2, c = 3;
};

SITE static void virtual_call(bool wrong)
{
	base *p = new derived;

	HIDE(p);
	if (wrong)
		delete p;
	HIDE(p);
	sink = p->value();
	if (!wrong)
		delete p;
}

/* An object where there is room for its base only. */
SITE static void placed_in_too_little(bool wrong)
{
	void *room = ::operator new(wrong ? sizeof(base) : sizeof(derived));

	HIDE(room);
	auto p = new (room) derived;
	HIDE(p);
	sink = p->b;
	p->~derived();
	::operator delete(room);
}

struct plain {
	long a[4];
};

SITE static void deleted_twice(bool wrong)
{
	auto p = new plain, q = p;

	HIDE(p);
	HIDE(q);
	delete p;
	if (wrong)
		delete q;
	NOT_A_TAIL_CALL();
}

/* It belongs to both, each of which thinks that it is the only one. */
SITE static void two_owners(bool wrong)
{
	auto p = new plain;

	HIDE(p);
	{
		std::unique_ptr<plain> first(p), second(wrong ? p : nullptr);
	}
	NOT_A_TAIL_CALL();
}

SITE static void delete_interior(bool wrong)
{
	char *p = new char[64], *q = wrong ? p + 16 : nullptr;

	HIDE(q);
	delete[] q;
	delete[] p;
}

static heap_case *const cases[] = {
	new_array_beyond,     vector_beyond, vector_end,   vector_iterator,
	vector_reference,     list_erase,    map_erase,	   string_moved,
	view_of_gone,	      unique_reset,  shared_reset, captured,
	virtual_call,	      deleted_twice, two_owners,   delete_interior,
	placed_in_too_little,
};

static const char *obey(const char *command)
{
	return heap_obey(command, cases, sizeof(cases) / sizeof(*cases));
}

int main()
{
	return truth_serve(obey);
}
