-- What webhooks keep and let go.
select true;
