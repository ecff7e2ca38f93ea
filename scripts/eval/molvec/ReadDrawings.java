import com.sun.management.OperatingSystemMXBean;
import gov.nih.ncats.molvec.Molvec;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;

/**
 * Reads a path of an image from each line of the standard input, and answers with the CPU time (seconds), the mol file
 * that MolVec reads (nothing if it fails) and a line `$$$$`.
 */
public class ReadDrawings {
  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    BufferedReader paths = new BufferedReader(new InputStreamReader(System.in));
    for (String path = paths.readLine(); path != null; path = paths.readLine()) {
      long start = system.getProcessCpuTime();
      String molecule = "";
      try {
        molecule = Molvec.ocr(new File(path));
      } catch (Exception | StackOverflowError | OutOfMemoryError error) {
        System.err.println(path + ": " + error);
      }
      answers.println((system.getProcessCpuTime() - start) / 1e9);
      answers.println(molecule);
      answers.println("$$$$");
      answers.flush();
    }
  }
}
