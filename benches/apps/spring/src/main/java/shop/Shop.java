package shop;

import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Articles of a shop in JSON: `shop.Shop --server.port=PORT`. */
@SpringBootApplication
@RestController
public class Shop {
    record Article(int id, String name, String category, int cents) {}

    private final List<Article> articles =
            IntStream.range(0, 200)
                    .mapToObj(n -> new Article(n, "Article " + n, "category-" + n % 8, 100 + n * 7919 % 5000))
                    .toList();

    @GetMapping("/categories/{category}/articles")
    List<Article> cheapest(@PathVariable String category, @RequestParam(defaultValue = "20") int limit) {
        return articles.stream()
                .filter(article -> article.category().equals(category))
                .sorted(Comparator.comparingInt(Article::cents))
                .limit(limit)
                .toList();
    }

    public static void main(String[] args) {
        SpringApplication.run(Shop.class, args);
    }
}
