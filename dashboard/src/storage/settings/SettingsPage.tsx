import "../storage.css"
import { useQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { CopyRequest } from "../../ui/page/CopyRequest.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { codeOf } from "../../wire/ApiError.ts"
import { call } from "../../wire/call.ts"
import { corsQuery } from "../queries.ts"
import { NoBucket } from "../NoBucket.tsx"
import { AccessForm } from "./AccessForm.tsx"
import { CorsForm } from "./CorsForm.tsx"

/** Who may use a bucket: everyone by its policy, pages of other origins by its CORS rules. */
export const SettingsPage = () => {
  const { bucket } = useParams({ strict: false }) as { readonly bucket: string }
  const policy = useQuery({
    queryKey: ["policy", bucket],
    queryFn: ({ signal }) => call("GET /api/storage/buckets/:bucket/policy", { params: { bucket }, signal })
  })
  const cors = useQuery(corsQuery(bucket))
  const error = policy.error ?? cors.error
  if (error !== null && codeOf(error) === "BUCKET_NOT_FOUND") return <NoBucket />
  return (
    <div className="page">
      <div className="page-head">
        <h2>
          <Link to="/storage/$bucket" params={{ bucket }} search={{}}>
            {bucket}
          </Link>{" "}
          / Access and CORS
        </h2>
        <CopyRequest path={`/api/storage/buckets/${bucket}/policy`} />
      </div>
      {policy.isLoadingError || cors.isLoadingError ? (
        <Problem
          error={error}
          title="The settings could not be read"
          onRetry={() => {
            void policy.refetch()
            void cors.refetch()
          }}
        />
      ) : policy.data === undefined || cors.data === undefined ? (
        <Skeleton lines={[100, 100, 60]} />
      ) : (
        <div className="storage-settings">
          <AccessForm key={JSON.stringify(policy.data)} bucket={bucket} policy={policy.data.policy} />
          <CorsForm key={JSON.stringify(cors.data)} bucket={bucket} rules={cors.data.corsRules} />
        </div>
      )}
    </div>
  )
}
