// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A worker of tests/soak/services.
import java.io.BufferedReader;
import java.io.InputStreamReader;

class Work {
	public static void main(String[] arguments) throws Exception {
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line; (line = lines.readLine()) != null;) {
			long number = Long.parseLong(line.split(" ")[0]);
			byte[][] scratch = new byte[100][];
			for (int i = 0; i < 100; i++)
				scratch[i] = new byte[1000 + i];
			for (int i = 0; i < 10; i++)
				number = number * 48271 % 2147483647;
			System.out.println(number);
		}
	}
}
