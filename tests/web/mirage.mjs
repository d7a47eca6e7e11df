// SPDX-License-Identifier: ISC
// Writes small traces in mirage-profile's format with content that no program records: any bytes as
// labels, any number of tasks, always the same times.
const uuid = "05883b8d521a487bb397456ab150680c";
const headerSize = 30;
const kinds = { wait: 0, task: 1, bind: 2, condition: 8, promise: 15 };

/** Makes a trace from events: [time in ns, operation, its operands...]. */
export function trace(events) {
  const body = Buffer.concat(events.map(encode));
  const header = Buffer.alloc(headerSize);
  header.writeUInt32LE(0xc1fc1fc1, 0);
  header.write(uuid, 4, "hex");
  header.writeUInt32LE((headerSize + body.length) * 8, 20);
  header.writeUInt32LE((headerSize + body.length) * 8, 26);
  return Buffer.concat([header, body]);
}

function encode([time, operation, ...rest]) {
  const start = Buffer.alloc(9);
  start.writeBigUInt64LE(BigInt(time));
  switch (operation) {
    case "create": // parent, task, kind
      start[8] = 0;
      return Buffer.concat([start, ids(rest[0], rest[1]), Buffer.of(kinds[rest[2] ?? "promise"])]);
    case "read": // task, source
      start[8] = 1;
      return Buffer.concat([start, ids(rest[0], rest[1])]);
    case "resolve": // by, task
      start[8] = 2;
      return Buffer.concat([start, ids(rest[0], rest[1])]);
    case "label": // task, text or bytes
      start[8] = 5;
      return Buffer.concat([start, ids(rest[0]), Buffer.from(rest[1]), Buffer.of(0)]);
    case "switch": // task
      start[8] = 7;
      return Buffer.concat([start, ids(rest[0])]);
    case "wait": // task, source
      start[8] = 10;
      return Buffer.concat([start, ids(rest[0], rest[1])]);
    case "counter": // by, value, name
      start[8] = 11;
      return Buffer.concat([start, ids(rest[0], rest[1]), Buffer.from(rest[2]), Buffer.of(0)]);
  }
  throw new Error(`no operation ${operation}`);
}

function ids(...list) {
  const bytes = Buffer.alloc(8 * list.length);
  list.forEach((id, at) => bytes.writeBigInt64LE(BigInt(id), 8 * at));
  return bytes;
}

/**
 * The events of a server. The main context creates each task, which runs, waits for a task of its
 * own, runs again and ends. The tasks take the given labels in turn. At the end, two may wait for
 * each other.
 */
export function server(count, labels, locks = false) {
  const events = [[1000, "switch", 0]];
  for (let i = 0; i < count; i++) {
    const time = 1000 + i * 2000;
    const task = 1 + 2 * i;
    events.push(
      [time, "create", 0, task, "bind"],
      [time + 10, "label", task, labels[i % labels.length]],
      [time + 20, "switch", task],
      [time + 100, "create", task, task + 1, "wait"],
      [time + 110, "wait", task, task + 1],
      [time + 200, "switch", 0],
      [time + 900 + (i % 7) * 100, "resolve", 0, task + 1],
      [time + 910 + (i % 7) * 100, "read", task, task + 1],
      [time + 990 + (i % 7) * 100, "resolve", 0, task],
      [time + 995 + (i % 7) * 100, "switch", 0],
    );
  }
  const [time, one, two] = [1000 + count * 2000, 1 + 2 * count, 2 + 2 * count];
  if (locks)
    events.push(
      [time, "create", 0, one, "bind"],
      [time, "create", 0, two, "bind"],
      [time, "wait", one, two],
      [time, "wait", two, one],
    );
  return trace(events);
}
