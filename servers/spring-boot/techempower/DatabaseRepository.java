package techempower;

import java.util.List;
import org.springframework.jdbc.core.DataClassRowMapper;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.RowMapper;
import org.springframework.stereotype.Repository;

@Repository
class DatabaseRepository {
    private static final RowMapper<World> WORLD =
            (row, number) -> new World(row.getInt("id"), row.getInt("randomnumber"));
    private static final RowMapper<Fortune> FORTUNE = DataClassRowMapper.newInstance(Fortune.class);

    private final JdbcTemplate jdbc;
    private volatile List<World> cached;

    DatabaseRepository(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    World find(int id) {
        return jdbc.queryForObject("SELECT id, randomnumber FROM world WHERE id = ?", WORLD, id);
    }

    /** The planner keeps the order of the arrays: ascending ids, so that no two updates block each other. */
    void update(List<World> worlds) {
        jdbc.update(
                "UPDATE world SET randomnumber = new.number "
                        + "FROM unnest(?::int[], ?::int[]) AS new (id, number) WHERE world.id = new.id",
                worlds.stream().map(World::id).toArray(Integer[]::new),
                worlds.stream().map(World::randomNumber).toArray(Integer[]::new));
    }

    List<Fortune> fortunes() {
        return jdbc.query("SELECT id, message FROM fortune", FORTUNE);
    }

    /** Read when they are first asked for. */
    List<World> cached() {
        if (cached == null) {
            cached = jdbc.query("SELECT id, randomnumber FROM cachedworld", WORLD);
        }
        return cached;
    }
}
