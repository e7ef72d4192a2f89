import type { ErrorComponentProps } from "@tanstack/react-router"
import { Problem } from "../ui/Problem.tsx"

/** Instead of a page whose code has failed; the rest of the dashboard goes on. */
export const PageFailure = ({ error, reset }: ErrorComponentProps) => (
  <Problem error={error} title="This page has failed" onRetry={reset} />
)
