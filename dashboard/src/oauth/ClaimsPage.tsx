import "./oauth.css"
import { Skeleton } from "../ui/Empty.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Problem } from "../ui/Problem.tsx"
import { ClaimsEditor } from "./ClaimsEditor.tsx"
import { useBridge, useClaims } from "./queries.ts"
import { Unconfigured } from "./Unconfigured.tsx"

export const ClaimsPage = () => {
  const claims = useClaims()
  const bridge = useBridge()
  return (
    <div className="page">
      <div className="page-head">
        <h2>Token claims</h2>
        <CopyRequest path="/api/oauth2/claims-config" />
      </div>
      {claims.isPending || bridge.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : bridge.data?.oauth2_configured === false ? (
        <Unconfigured />
      ) : claims.data === undefined ? (
        <Problem error={claims.error} title="The claims could not be read" onRetry={() => void claims.refetch()} />
      ) : (
        <>
          <p className="lead">
            Beside the standard ones, tokens have these claims. A template is a text with <code>{"{{id}}"}</code>,{" "}
            <code>{"{{traits.<name>}}"}</code> or <code>{"{{metadata_public.<name>}}"}</code>, which are filled in when
            a user consents; a claim without a value is left out. With a scope, only apps get it to which the user
            granted that scope.
          </p>
          <ClaimsEditor claims={claims.data} />
        </>
      )}
    </div>
  )
}
