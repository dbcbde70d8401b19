package techempower;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The techempower contract on Spring Boot: Spring MVC in Tomcat, JDBC with HikariCP, and Thymeleaf. */
@SpringBootApplication
public class Application {
    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }
}
