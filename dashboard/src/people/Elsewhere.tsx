import { Empty } from "../ui/Empty.tsx"
import { codeOf } from "../wire/ApiError.ts"

/** In place of a page about accounts, where the service keeps none itself. */
export const Elsewhere = ({ error }: { error: unknown }) =>
  codeOf(error) === "USE_IDP" ? (
    <Empty icon="person" title="Accounts are kept elsewhere">
      {(error as Error).message}. Manage people and their e-mails there. Without <code>IDP_PUBLIC_URL</code>, the
      service keeps accounts itself.
    </Empty>
  ) : (
    <Empty icon="person" title="Accounts are turned off">
      With them, people sign up and sign in to your apps, and row-level security knows who they are. Remove{" "}
      <code>SVC_IDENTITY=off</code> and restart.
    </Empty>
  )
