/** The only lines that differ between a project at Supabase and one here. */
export const url = import.meta.env["VITE_SUPABASE_URL"] ?? "http://127.0.0.1:3000"
export const key = import.meta.env["VITE_SUPABASE_KEY"] ?? "svc_pk_…"
