// Loader: inflates the page's scripts and starts them; a browser that cannot (older than 2023) keeps the static tables.
async function inflated(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
inflated("code").then((code) => {
  const script = document.createElement("script");
  script.textContent = code;
  document.body.append(script);
});
