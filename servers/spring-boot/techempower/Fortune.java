package techempower;

public record Fortune(int id, String message) {}
