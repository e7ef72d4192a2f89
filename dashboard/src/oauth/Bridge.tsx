import { Button } from "../ui/Button.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { copy } from "../ui/toast.ts"
import { useBridge } from "./queries.ts"

/** Whether sign-ins of other apps work, and the addresses that the OAuth 2.0 server needs for them. */
export const Bridge = () => {
  const { data } = useBridge()
  if (data === undefined) return null
  const urls = [
    ["Login URL", data.login_url],
    ["Consent URL", data.consent_url],
    ["Logout URL", data.logout_url]
  ] as const
  return (
    <section className="part" aria-label="Bridge">
      <header>
        <h3>Bridge</h3>
        <span className={`badge ${data.bridge_ready ? "good" : "warn"}`}>
          {data.bridge_ready ? "ready" : "not ready"}
        </span>
      </header>
      {data.bridge_ready ? null : (
        <p className="soft">
          {data.idp_configured
            ? "The OAuth 2.0 server does not respond."
            : "Users can't sign in: no identity provider is configured."}
        </p>
      )}
      <Facts
        facts={urls.map(([name, url]) => [
          name,
          <span key={name} className="oauth-url">
            <code>{url}</code>
            <Button kind="quiet" icon="copy" label={`Copy the ${name}`} onClick={() => void copy(url, name)} />
          </span>
        ])}
      />
      <p className="soft oauth-note">
        The OAuth 2.0 server redirects browsers to these addresses: set them in its configuration.
      </p>
    </section>
  )
}
