// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.zip.Inflater;

/**
 * Takes memory that is not Java's own in many ways, and says where it was as Throwable has it. ROUNDS times before it says that it is
 * ready, so that it is compiled, and once when it is asked to (a line on standard input): then each way asks for so many bytes
 * as no other one does. The answer is one line of JSON; of zlib's memory there are no bytes in it.
 */
public class StacksJava {
    private static final List<Object> kept = new ArrayList<>();
    private static StringBuilder told; // null: not asked yet
    private static int size = 1;
    private static final String VERSION = System.getProperty("java.specification.version").replace("1.", "");

    interface Way {
        void go() throws Exception;

        default void twice() throws Exception {
            go();
        }
    }

    private static String ascii(String name) {
        StringBuilder escaped = new StringBuilder();
        for (char c : name.toCharArray())
            escaped.append(c < 128 ? String.valueOf(c) : String.format("\\u%04x", (int)c));
        return escaped.toString();
    }

    /** Of a line: what is allocated in it, and a Throwable that is made in it. */
    private static void take(Object block, Throwable where) {
        if (told == null)
            return;
        kept.add(block);
        told.append(told.length() == 0 ? "[" : ", ");
        told.append("{\"bytes\": ").append(block instanceof ByteBuffer ? size : 0).append(", \"stack\": [");
        String comma = "";
        for (StackTraceElement e : where.getStackTrace()) {
            told.append(comma).append("{\"function\": \"").append(ascii(e.getClassName() + '.' + e.getMethodName())).append('"');
            if (e.getFileName() != null)
                told.append(", \"file\": \"").append(e.getFileName()).append('"');
            if (e.getLineNumber() > 0)
                told.append(", \"line\": ").append(e.getLineNumber());
            told.append('}');
            comma = ", ";
        }
        told.append("]}");
    }

    static void direct() {
        take(ByteBuffer.allocateDirect(size), new Throwable());
    }

    private static void deep(int n) {
        if (n > 0)
            deep(n - 1);
        else
            direct();
    }

    public static void reflected() {
        direct();
    }

    private static synchronized void gr\u00f6\u00dfe(long a, double b, Object c) {
        try {
            if (a + b > 0)
                direct();
        } finally {
            size += 0;
        }
    }

    static class Made {
        final Object block;

        Made() {
            this(3);
        }

        Made(int n) {
            block = n;

            direct();
        }
    }

    private static void zlib() {
        // Memory of zlib's is kept until it is asked to give it back.
        Inflater inflater;
        take(inflater = new Inflater(), new Throwable());
        if (told == null)
            inflater.end();
    }

    private static void thread() throws Exception {
        Thread thread = new Thread(() -> deep(1));
        thread.start();
        thread.join();
    }

    private static int compare(Integer a, Integer b) {
        direct();
        return a - b;
    }

    private static final Way[] ways = {
        StacksJava::direct,
        () -> deep(7),
        () -> Collections.singletonList(1).forEach(x -> direct()),
        () -> Arrays.sort(new Integer[] {2, 1}, StacksJava::compare),
        () -> StacksJava.class.getMethod("reflected").invoke(null),
        () -> gr\u00f6\u00dfe(1, 2, "c"),
        Made::new,
        new Way() {
            public void go() {
                direct();
            }
        }::twice,
        StacksJava::zlib,
    };

    private static void all() throws Exception {
        for (Way way : ways) {
            if (told != null)
                size += 16;
            way.go();
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = Integer.parseInt(args[0]); i > 0; i--)
            all();
        thread();
        System.out.println("ready " + new File("/proc/self").getCanonicalFile().getName());
        while (System.in.read() > 0) {
            told = new StringBuilder();
            size = 200000;
            all();
            size += 16;
            thread();
            System.out.println(told.append(", {\"version\": ").append(VERSION).append("}]"));
        }
    }
}
