// Loader: inflates the page's scripts and starts them; a browser that cannot (older than 2023) keeps the static tables.
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=:?@^_`{|}~";
function bytesOf(text) {  // of base85: five digits are four bytes
  const padded = text + "~".repeat((5 - text.length % 5) % 5), view = new DataView(new ArrayBuffer(padded.length / 5 * 4));
  for (let place = 0; place < padded.length; place += 5) {
    let word = 0;
    for (const digit of padded.slice(place, place + 5)) word = word * 85 + DIGITS.indexOf(digit);
    view.setUint32(place / 5 * 4, word);
  }
  return new Uint8Array(view.buffer, 0, Math.floor(text.length * 4 / 5));
}
async function inflated(id) {
  const bytes = bytesOf(document.getElementById(id).textContent);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
inflated("code").then((code) => {
  const script = document.createElement("script");
  script.textContent = code;
  document.body.append(script);
});
