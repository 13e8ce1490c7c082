// A program in another language: PostgreSQL's simple query protocol over a Unix socket, and nothing of ours.
// node append_event.mjs SOCKET USER DATABASE STATEMENTS
import net from "node:net";

const [socket, user, database, statements] = process.argv.slice(2);
const cstr = (...texts) => Buffer.from(texts.map((text) => text + "\0").join(""));
const message = (type, body) => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const startup = () => {
  const body = Buffer.concat([Buffer.from([0, 3, 0, 0]), cstr("user", user, "database", database), Buffer.from([0])]);
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length + 4);
  return Buffer.concat([size, body]);
};

let unread = Buffer.alloc(0);
let asked = false;
let failed = false;
const server = net.connect(socket, () => server.write(startup()));
server.on("data", (chunk) => {
  unread = Buffer.concat([unread, chunk]);
  while (unread.length >= 5 && unread.length > unread.readInt32BE(1)) {
    const type = String.fromCharCode(unread[0]);
    const body = unread.subarray(5, unread.readInt32BE(1) + 1);
    unread = unread.subarray(unread.readInt32BE(1) + 1);
    if (type === "D") console.log(body.subarray(6).toString());
    if (type === "E") {
      failed = true;
      console.error(body.toString().split("\0").find((field) => field.startsWith("C")));
    }
    if (type === "Z" && asked) server.end(message("X", Buffer.alloc(0)));
    if (type === "Z" && !asked) {
      asked = true;
      server.write(message("Q", cstr(statements)));
    }
  }
});
server.on("close", () => process.exit(failed ? 1 : 0));
