// Reads lines of {secret, headers, body: base64}; answers each with what the official library says of it.
const { Webhook } = require("standardwebhooks");

let text = "";
process.stdin.on("data", (chunk) => (text += chunk));
process.stdin.on("end", () => {
  for (const line of text.split("\n").filter(Boolean)) {
    const { secret, headers, body } = JSON.parse(line);
    try {
      new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
      console.log("verified");
    } catch (error) {
      console.log(error.name);
    }
  }
});
