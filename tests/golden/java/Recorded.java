// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.util.concurrent.Callable;

/**
 * Reads ROUNDS bytes of its standard input, from methods of which record.py has some interpreted for good and others compiled, and
 * then waits for one more. Then it says, as Thread has it, what stack that is in.
 */
public class Recorded {
    private static final FileInputStream in = new FileInputStream(FileDescriptor.in);
    private static volatile int read;

    static class Reader implements Callable<Integer> {
        private int inlined() throws Exception {
            return in.read();
        }

        public synchronized Integer call() throws Exception {
            int before = read;

            return inlined() + before;
        }
    }

    static int interpreted(Callable<Integer> reader) throws Exception {
        int sum = 1;

        sum +=
            reader.call();
        return sum;
    }

    private static int inlined(Callable<Integer> reader) throws Exception {
        return interpreted(reader) + 1;
    }

    static int compiled(Callable<Integer> reader, int n) throws Exception {
        if (n > 0)
            return compiled(reader, n - 1) + 1;
        return 1
            + inlined(reader);
    }

    private static void tell(Thread main, int rounds) {
        StackTraceElement[] stack = main.getStackTrace();
        StringBuilder told = new StringBuilder("[");

        while (read < rounds || stack.length == 0 || !stack[0].isNativeMethod())
            stack = main.getStackTrace();
        for (StackTraceElement e : stack) {
            told.append(told.length() == 1 ? "" : ", ").append("{\"function\": \"").append(e.getClassName()).append('.').append(e.getMethodName());
            told.append("\", \"file\": \"").append(e.getFileName()).append('"');
            told.append(", \"line\": ").append(e.getLineNumber() > 0 ? e.getLineNumber() : null).append('}');
        }
        System.out.println(told.append(']'));
    }

    public static void main(String[] args) throws Exception {
        Thread main = Thread.currentThread();
        int rounds = Integer.parseInt(args[0]);
        Thread teller = new Thread(() -> tell(main, rounds));
        Reader reader = new Reader();

        teller.setDaemon(true);
        teller.start();
        while (true) {
            compiled(reader, 2);
            read++;
        }
    }
}
