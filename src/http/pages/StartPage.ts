import { type HttpServerResponse } from "effect/http"
import { html, page } from "./Html.ts"

/** The page at the service's address, for people. It contains nothing beyond the documentation. */
export const startPage = (): HttpServerResponse.HttpServerResponse =>
  page(
    "svc",
    html`<h1>The service is running</h1>
      <p><a href="/docs">Documentation of the API</a>, also as <a href="/openapi.json">OpenAPI</a></p>
      <p>
        Tables are at <code>/v1/db/&lt;table&gt;</code>, statements at <code>/v1/sql</code>, management at
        <code>/api</code>.
      </p>
      <p>
        Every request needs an API key in the header <code>apikey</code>. The first start stored two keys in the file
        <code>keys.json</code> of the data directory (<code>SVC_DATA_DIR</code>, default <code>.svc</code>);
        <code>svc key service_role</code> creates another.
      </p>
      <footer>Status: <a href="/healthz">process</a>, <a href="/readyz">database</a></footer>`
  )
