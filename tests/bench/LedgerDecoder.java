import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.meta.LedgerMetadataSerDe;

/**
 * Decodes the values of ledgers with BookKeeper's own class, round after round, and tells what each round took.
 *
 * The file holds each value behind its length, four bytes. A line for each round: how many were decoded, how many were
 * not, how many segments they have, and the nanoseconds of CPU that the process used, its compiler and its collector
 * with it.
 */
public final class LedgerDecoder {
    public static void main(String[] args) throws IOException {
        List<byte[]> values = read(args[0]);
        int rounds = Integer.parseInt(args[1]);
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        LedgerMetadataSerDe decoder = new LedgerMetadataSerDe();
        for (int round = 0; round < rounds; round++) {
            long decoded = 0;
            long damaged = 0;
            long segments = 0;
            long began = system.getProcessCpuTime();
            for (int number = 0; number < values.size(); number++) {
                try {
                    LedgerMetadata found = decoder.parseConfig(values.get(number), number, Optional.of(1L));
                    segments += found.getAllEnsembles().size();
                    decoded++;
                } catch (IOException | RuntimeException exc) {
                    damaged++;
                }
            }
            long used = system.getProcessCpuTime() - began;
            System.out.println(decoded + " " + damaged + " " + segments + " " + used);
        }
    }

    private static List<byte[]> read(String file) throws IOException {
        List<byte[]> values = new ArrayList<>();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file)))) {
            while (true) {
                byte[] value = new byte[in.readInt()];
                in.readFully(value);
                values.add(value);
            }
        } catch (EOFException exc) {
            return values;
        }
    }
}
