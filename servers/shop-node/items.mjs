const COLOURS = ['red', 'blue', 'green', 'white', 'black', 'grey', 'brown', 'pink', 'gold', 'silver'];
const THINGS = ['kettle', 'lamp', 'chair', 'desk', 'clock', 'mug', 'plate', 'rug', 'vase', 'shelf'];

// As many are found at most.
const FOUND = 10;

/** What the shop has, with prices in cents. It never changes. */
export const items = Array.from({ length: 1000 }, (_, id) => ({
  id,
  name: `${COLOURS[id % 10]} ${THINGS[Math.floor(id / 10) % 10]} ${id}`,
  price: 100 + ((id * 7919) % 9900),
}));

/** A whole number in a range that a text says, or null. */
export function whole(text, least, most) {
  const n = Number(text);
  return String(n) === text && Number.isInteger(n) && n >= least && n <= most ? n : null;
}

/** All items whose names contain a text are counted, and the first ones given. */
export function search(text) {
  const all = items.filter((item) => item.name.includes(text));
  return { total: all.length, items: all.slice(0, FOUND) };
}
