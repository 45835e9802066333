// Search from a folder: a browser starts no worker for a page that it opened from a file, so the search runs in a hidden
// frame that stands in for one. Used only there; loads nothing but the search script of this site.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      const load =
        "(...urls) => urls.reduce((before, url) => before.then(() => new Promise((done) => {" +
        " const script = document.createElement('script'); script.src = url; script.onload = done;" +
        " document.body.appendChild(script); })), Promise.resolve())";
      inner.document.open();
      inner.document.write(
        "<!DOCTYPE html><html><body><script>postMessage = parent.postMessage.bind(parent); " +
          `importScripts = ${load};<\/script><script src="${encodeURI(String(url))}"><\/script></body></html>`,
      );
      inner.document.close();
      this.ready = new Promise((done) => (inner.onload = done));
      window.addEventListener("message", (event) => {
        if (event.source !== inner) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
