import { Empty } from "../ui/Empty.tsx"

/** In place of a page that needs an OAuth 2.0 server. */
export const Unconfigured = () => (
  <Empty icon="client" title="No OAuth 2.0 server">
    With one, other apps sign users in with accounts of this service. It is turned off: remove{" "}
    <code>SVC_IDENTITY=off</code>, or set <code>OAUTH2_PUBLIC_URL</code> and <code>OAUTH2_ADMIN_URL</code> to those of
    an Ory Hydra, and restart.
  </Empty>
)
