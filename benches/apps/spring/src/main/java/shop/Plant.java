package shop;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.springframework.stereotype.Component;

/** Burns PLANT_US microseconds of CPU time of the thread that serves each request. */
@Component
public class Plant implements Filter {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final long length =
            (long) (1e3 * Double.parseDouble(System.getenv().getOrDefault("PLANT_US", "0")));

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain rest)
            throws IOException, ServletException {
        if (length > 0) {
            long end = THREADS.getCurrentThreadCpuTime() + length;
            while (THREADS.getCurrentThreadCpuTime() < end) {
                Thread.onSpinWait();
            }
        }
        rest.doFilter(request, response);
    }
}
