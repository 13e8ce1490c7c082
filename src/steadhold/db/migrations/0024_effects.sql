-- Effects: what left the building, and journals of charges.
select true;
