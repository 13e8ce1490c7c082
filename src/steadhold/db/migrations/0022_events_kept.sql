-- What subscriptions and references let go.
select true;
