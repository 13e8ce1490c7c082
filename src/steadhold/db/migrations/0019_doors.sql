-- Doors at which third parties' webhooks come in.
select true;
