package techempower;

public record World(int id, int randomNumber) {}
