package techempower;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;

@Controller
class TechempowerController {
    private static final int WORLDS = 10_000;

    private final DatabaseRepository repository;

    TechempowerController(DatabaseRepository repository) {
        this.repository = repository;
    }

    @GetMapping("/json")
    @ResponseBody
    Map<String, String> json() {
        return Map.of("message", "Hello, World!");
    }

    @GetMapping(path = "/plaintext", produces = MediaType.TEXT_PLAIN_VALUE)
    @ResponseBody
    String plaintext() {
        return "Hello, World!";
    }

    @GetMapping("/db")
    @ResponseBody
    World db() {
        return repository.find(randomId());
    }

    @GetMapping("/queries")
    @ResponseBody
    List<World> queries(@RequestParam(defaultValue = "") String queries) {
        return randomIds(number(queries)).mapToObj(repository::find).toList();
    }

    @GetMapping("/fortunes")
    String fortunes(Model model) {
        Fortune additional = new Fortune(0, "Additional fortune added at request time.");
        model.addAttribute(
                "fortunes",
                Stream.concat(repository.fortunes().stream(), Stream.of(additional))
                        .sorted(Comparator.comparing(Fortune::message))
                        .toList());
        return "fortunes";
    }

    @GetMapping("/updates")
    @ResponseBody
    List<World> updates(@RequestParam(defaultValue = "") String queries) {
        List<World> worlds =
                randomIds(number(queries))
                        .sorted()
                        .mapToObj(repository::find)
                        .map(world -> new World(world.id(), randomId()))
                        .toList();
        repository.update(worlds);
        return worlds;
    }

    @GetMapping("/cached-queries")
    @ResponseBody
    List<World> cachedQueries(@RequestParam(defaultValue = "") String count) {
        List<World> cached = repository.cached();
        return Stream.generate(() -> cached.get(randomId() - 1)).limit(number(count)).toList();
    }

    /** The parameter within 1 and 500; 1 when it is not a number. */
    private static int number(String text) {
        try {
            return Math.min(Math.max(Integer.parseInt(text), 1), 500);
        } catch (NumberFormatException error) {
            return 1;
        }
    }

    private static int randomId() {
        return ThreadLocalRandom.current().nextInt(1, WORLDS + 1);
    }

    /** Distinct ones. */
    private static IntStream randomIds(int count) {
        return ThreadLocalRandom.current().ints(1, WORLDS + 1).distinct().limit(count);
    }
}
