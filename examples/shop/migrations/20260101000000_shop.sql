create table orders (
  id bigint generated always as identity primary key,
  email text not null,
  status text not null default 'open' check (status in ('open', 'paid')),
  created_at timestamptz not null default now()
);
create table receipts (
  order_id bigint primary key references orders on delete cascade,
  text text not null
);
-- Reached by the functions alone, which have the service key.
alter table orders enable row level security;
alter table receipts enable row level security;
