// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Inflater;

/**
 * Says "ready", and when it has got a line leaks memory of zlib's, ROUNDS times from the same place, which is made to be compiled when it has been there often.
 * Prints how many Java methods are on the stack there, its own, and those of the library that lead to its native method.
 * Then it waits until its input ends.
 */
public class LeakJava {
    private static final List<Object> kept = new ArrayList<>();
    private static final int OF_LIBRARY = 2; // new Inflater(), new Inflater(boolean)
    private static int depth;

    private static void keep() {
        kept.add(new Inflater());
        if (depth == 0)
            depth = new Throwable().getStackTrace().length + OF_LIBRARY;
    }

    private static void handle(int n) {
        if (n > 0)
            handle(n - 1);
        else
            keep();
    }

    public static void main(String[] args) throws IOException {
        System.out.println("ready");
        while (System.in.read() != '\n')
            continue;
        for (int i = Integer.parseInt(args[0]); i > 0; i--)
            handle(5);
        System.out.println("kept " + depth);
        while (System.in.read() >= 0)
            continue;
        Runtime.getRuntime().halt(0); // at once: a JVM that ends gives much back
    }
}
