// Opens and seals private envelopes with the npm package `jose`: a line of JSON in, a line of JSON out.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const jose = await import(pathToFileURL(process.env.JOSE));
const bytes = (text) => Buffer.from(text, "base64url");

const verbs = {
  async open({ k, jwe }) {
    const { plaintext, protectedHeader } = await jose.compactDecrypt(jwe, bytes(k), {
      keyManagementAlgorithms: ["A256KW"],
      contentEncryptionAlgorithms: ["A256GCM"],
      crit: { ctx: true },
    });
    return { data: Buffer.from(plaintext).toString("base64url"), kid: protectedHeader.kid, ctx: protectedHeader.ctx };
  },
  async seal({ k, kid, ctx, data }) {
    const jwe = await new jose.CompactEncrypt(bytes(data))
      .setProtectedHeader({ alg: "A256KW", enc: "A256GCM", kid, ctx, crit: ["ctx"] })
      .encrypt(bytes(k), { crit: { ctx: true } });
    return { jwe };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { verb, ...rest } = JSON.parse(line);
  try {
    console.log(JSON.stringify(await verbs[verb](rest)));
  } catch (wrong) {
    console.log(JSON.stringify({ refused: wrong.code ?? String(wrong) }));
  }
}
